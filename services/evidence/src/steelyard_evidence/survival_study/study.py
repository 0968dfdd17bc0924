"""The evaluation data in passages of several lengths, under several pair limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from steelyard_models.encoder import OnnxTextEncoder
from steelyard_models.tokenizer import TextTokenizer

from ..embedded_default import embedded_encoder
from ..evaluation.collection import Collection
from ..evaluation.datasets import NAMES, read_one
from ..freeze import evaluation
from ..freeze.build import freeze, tokenizer_identity
from ..freeze.dataset import AnnotatedQuery
from ..freeze.local_snapshot import local_snapshot
from ..freeze.sizes import Sizes
from ..freeze.snapshot import Snapshot
from ..manifest import sealed
from ..policy import Policy
from ..readers import BackendReader, open_embedded
from ..run.plan import Plan
from ..run.runner import run_plan
from ..tell import Tell
from .boundaries import Losses, losses_of
from .pairs import Cell, evidence_of, survival_by_position

LIMITS = (128, 256, 512, 1024)
CANDIDATES = 10
CONTEXT_BUDGET = 2000
_CHUNK = 200
_LONG_DOCUMENT = 20_000
"""Characters of a mean document from which on whole documents are no candidates, and sections of them are."""
_SECTIONS = (500, 1500)
_WHOLE = 1_000_000


@dataclass(frozen=True, slots=True)
class Passages:
    """One data set in passages of one length: what pairs cut, on all questions, and a run on some of them."""

    collection: str
    passages: str
    questions: int
    longest_tokens: int
    mean_tokens: float
    cells: Sequence[Cell]
    run_questions: int
    losses: Sequence[Losses]


def survival_study(data: Path, cache: Path, questions: int, tell: Tell) -> list[Passages]:
    """Study every data set in `data`; runs are on `questions` of each. Vectors and scores are kept in `cache`.

    Raises DatasetError without the data, RunError without the model, CacheError.
    """
    collections = [read_one(name, data) for name in NAMES]
    model, encoder = embedded_encoder(OnnxTextEncoder)
    count = encoder.tokenizer.count
    found = []
    with open_embedded(cache) as reader:
        for collection in collections:
            for sizes in sizes_of(collection):
                title = f"{collection.name}, {name_of(sizes)}"
                cut = partial(evaluation.texts_of, collection, count)
                texts = list(cut(sizes.chunk if sizes.parent is None else sizes.parent))
                asked = evaluation.queries_of(collection, len(collection.questions))
                cells = survival_by_position(
                    evidence_of(asked, texts), encoder.tokenizer, LIMITS, partial(tell, f"{title}: measuring")
                )
                snapshot = local_snapshot(cut, sizes, model, encoder, cache, partial(tell, f"{title}: reading"))
                some = evaluation.queries_of(collection, questions)
                losses = _losses(title, some, snapshot, reader, cache, tell)
                tokens = encoder.tokenizer.count_many([one.text for one in texts])
                found.append(
                    Passages(
                        *(collection.name, name_of(sizes), len(asked), max(tokens), sum(tokens) / len(tokens)),
                        *(cells, len(some), losses),
                    )
                )
    return found


def sizes_of(collection: Collection) -> list[Sizes]:
    """Chunks as ingestion makes them; then sections of long documents, or short documents whole."""
    mean = sum(map(len, collection.documents.values())) / len(collection.documents)
    parents = _SECTIONS if mean >= _LONG_DOCUMENT else (_WHOLE,)
    return [Sizes(_CHUNK), *(Sizes(_CHUNK, parent) for parent in parents)]


def name_of(sizes: Sizes) -> str:
    """The passages in words."""
    if sizes.parent is None:
        return f"chunks of {sizes.chunk}"
    return "whole documents" if sizes.parent == _WHOLE else f"sections of {sizes.parent}"


def _losses(
    title: str, asked: Sequence[AnnotatedQuery], snapshot: Snapshot, reader: BackendReader, cache: Path, tell: Tell
) -> list[Losses]:
    tokenizer = tokenizer_identity(TextTokenizer(reader.tokenizer))
    manifest = sealed(
        freeze(
            title,
            asked,
            snapshot,
            reranker=reader.identity,
            tokenizer=tokenizer,
            context_tokenizer=tokenizer,
            candidates=CANDIDATES,
            pair_limit=max(LIMITS),
            context_budget=CONTEXT_BUDGET,
            on_queries=partial(tell, f"{title}: retrieving"),
        )
    )
    journal = cache / f"survival-{manifest.sha256[:16]}.unfinished"
    plan = Plan(current=Policy(), proposed=Policy(), limits=LIMITS)
    run = run_plan(manifest, plan, reader, journal, lambda part, done, of: tell(f"{title}, {part}: scoring", done, of))
    journal.unlink()
    return losses_of(run)
