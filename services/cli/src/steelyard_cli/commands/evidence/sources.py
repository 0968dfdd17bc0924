"""Where `steelyard evidence freeze` has its queries and its candidates from."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from steelyard_contracts.enums import SearchType
from steelyard_evidence.cache_folder import default_cache
from steelyard_evidence.evaluation.datasets import NAMES, read_one
from steelyard_evidence.freeze import evaluation, folder
from steelyard_evidence.freeze.dataset import AnnotatedQuery
from steelyard_evidence.freeze.local_index import IndexedText
from steelyard_evidence.freeze.local_snapshot import local_snapshot
from steelyard_evidence.freeze.sizes import Sizes
from steelyard_evidence.freeze.snapshot import Snapshot

from ...errors import ConfigurationError
from ...settings import EvaluationSettings
from ...stack import connection
from ...stack.snapshot import StackSnapshot
from .laboratory import Bar

if TYPE_CHECKING:
    from steelyard_models.catalogue import Model
    from steelyard_models.encoder import OnnxTextEncoder
    from steelyard_models.tokenizer import TextTokenizer


class Source(NamedTuple):
    """Documents that are cut and read here, with the embedded default's model."""

    model: "Model"
    encoder: "OnnxTextEncoder"
    sizes: Sizes
    cache: Path | None
    bar: Bar

    def evaluation(self, name: str, questions: int) -> tuple[list[AnnotatedQuery], Snapshot]:
        """Some questions of an evaluation data set, and its documents."""
        if name not in NAMES:
            raise ConfigurationError(f"--evaluation {name!r} is none of {', '.join(NAMES)}")
        collection = read_one(name, EvaluationSettings.folder())
        count = self.encoder.tokenizer.count
        snapshot = self._snapshot(lambda most: evaluation.texts_of(collection, count, most, self._cutting))
        return evaluation.queries_of(collection, questions), snapshot

    def folder(self, corpus: Path) -> Snapshot:
        """The documents of a folder."""
        return self._snapshot(lambda most: folder.texts_of(corpus, self.encoder.tokenizer, most, self._cutting))

    def _cutting(self, done: int, of: int) -> None:
        self.bar.tell("cutting documents", done, of)

    def _snapshot(self, cut: Callable[[int], Iterable[IndexedText]]) -> Snapshot:
        cache = default_cache() if self.cache is None else self.cache
        reading = partial(self.bar.tell, "reading texts")
        return local_snapshot(cut, self.sizes, self.model, self.encoder, cache, reading)


def running_stack(tokenizer: "TextTokenizer", search_type: SearchType, timeout_s: float, state_dir: Path) -> Snapshot:
    """The running stack's embedding service and retriever."""
    embedding, retriever = connection.embedding(timeout_s, state_dir), connection.retriever(timeout_s, state_dir)
    return StackSnapshot(embedding, retriever, tokenizer, search_type)
