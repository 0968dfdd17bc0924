"""The survival study: what pairs cut by position, what each boundary takes, scores that are asked for once."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from steelyard_evidence.errors import CacheError, DatasetError
from steelyard_evidence.evaluation.collection import Collection
from steelyard_evidence.freeze.dataset import AnnotatedQuery
from steelyard_evidence.freeze.dataset import Evidence as Annotation
from steelyard_evidence.freeze.local_index import IndexedText
from steelyard_evidence.freeze.sizes import Sizes
from steelyard_evidence.measures.survival import Boundary
from steelyard_evidence.policy import Policy
from steelyard_evidence.readers.remembered import RememberedBackend
from steelyard_evidence.run.plan import Plan
from steelyard_evidence.run.runner import run_plan
from steelyard_evidence.survival_study.boundaries import losses_of
from steelyard_evidence.survival_study.page import page
from steelyard_evidence.survival_study.pairs import Cell, evidence_of, survival_by_position
from steelyard_evidence.survival_study.study import Passages, name_of, sizes_of, survival_study
from steelyard_models.tokenizer import TextTokenizer
from steelyard_reranker.row_fault import RowFault
from tests.unit.evidence.samples import FakeReader, manifest
from tests.unit.evidence.tiny_tokenizers import word_tokenizer

FILLER = " ".join(["filler"] * 60)
SEAL, TORQUE, FLOW = "the seal fits", "the torque is low", "the flow is high"
DOCUMENT = f"{SEAL} {FILLER} {TORQUE} {FILLER} {FLOW}"


def annotated(name: str, *quotes: str) -> AnnotatedQuery:
    spans = [(DOCUMENT.index(quote), DOCUMENT.index(quote) + len(quote)) for quote in quotes]
    evidence = [Annotation(document="manual.md", start=start, end=end) for start, end in spans]
    return AnnotatedQuery(id=name, query="which one fits", evidence=evidence)


def text(start: int, end: int) -> IndexedText:
    return IndexedText("manual.md", "r1", start, end, DOCUMENT[start:end])


@pytest.fixture
def tokenizer(tmp_path: Path) -> TextTokenizer:
    return TextTokenizer(word_tokenizer(tmp_path, DOCUMENT + " which one"))


def cells_of(found: Sequence[Cell]) -> dict[tuple[int, str], tuple[int, int, int, int]]:
    return {(one.limit, one.position): (one.units, one.full, one.partial, one.lost) for one in found}


def test_a_longer_pair_reaches_the_middle_and_not_the_end(tokenizer: TextTokenizer) -> None:
    queries = [annotated("q1", SEAL, FLOW), annotated("q2", TORQUE)]
    whole = evidence_of(queries, [text(0, len(DOCUMENT))])
    assert [one.position for one in whole] == ["beginning", "end", "middle"]
    found = cells_of(survival_by_position(whole, tokenizer, (40, 80, 200)))
    assert [found[limit, "beginning"] for limit in (40, 80, 200)] == [(1, 1, 0, 0)] * 3
    assert [found[limit, "middle"] for limit in (40, 80, 200)] == [(1, 0, 0, 1), (1, 1, 0, 0), (1, 1, 0, 0)]
    assert [found[limit, "end"] for limit in (40, 80, 200)] == [(1, 0, 0, 1), (1, 0, 0, 1), (1, 1, 0, 0)]


def test_a_cut_through_the_evidence_is_partial(tokenizer: TextTokenizer) -> None:
    # 3 tokens of the question and 3 special ones leave 65: the filler, the seal and two of the torque's four words.
    whole = evidence_of([annotated("q2", TORQUE)], [text(0, len(DOCUMENT))])
    (cell,) = [one for one in survival_by_position(whole, tokenizer, (71,)) if one.units]
    assert (cell.position, cell.full, cell.partial, cell.lost) == ("middle", 0, 1, 0)
    assert cell.whole is not None
    assert (cell.whole.mean, cell.whole.n) == (0.0, 1)


def test_evidence_is_looked_at_where_most_of_it_stands(tokenizer: TextTokenizer) -> None:
    middle = DOCUMENT.index(TORQUE) + 4
    (one,) = evidence_of([annotated("q", TORQUE)], [text(0, middle), text(middle, len(DOCUMENT))])
    assert one.text == DOCUMENT[middle:]
    assert (one.place.start, one.place.unit_start, one.place.unit_end) == (0, 4, len(TORQUE))
    assert cells_of(survival_by_position([one], tokenizer, (40,)))[40, "beginning"] == (1, 1, 0, 0)
    assert evidence_of([annotated("q", TORQUE)], [text(0, 10)]) == []


def test_every_boundary_says_what_it_took(tmp_path: Path) -> None:
    policy = Policy().with_pairs(min_doc_tokens=16)
    plan = Plan(current=policy, proposed=policy, limits=(40, 200))
    run = run_plan(manifest(), plan, FakeReader(), tmp_path / "unfinished", lambda *_: None)
    short, long = losses_of(run)
    # Of each question's two facts the one at the end of a long text is not read in 40 characters.
    assert (short.limit, short.cut, short.not_retrieved) == (40, 2, 0)
    assert (long.limit, long.cut) == (200, 0)
    assert short.counts[Boundary.PAIR].lost == 2
    for one in (short, long):
        kept = one.counts[Boundary.SELECTED]
        assert one.unselected == kept.lost + kept.partial
        assert one.over_budget <= one.counts[Boundary.CONTEXT].lost + one.counts[Boundary.CONTEXT].partial
        assert one.came_back <= one.cut


def test_passages_are_chunks_and_sections_or_whole_paragraphs() -> None:
    long = Collection("manuals", {"a": "x" * 30_000, "b": "x" * 20_000}, (), (), by_unit=True)
    short = Collection("paragraphs", {"a": "x" * 500}, (), (), by_unit=True)
    assert [name_of(one) for one in sizes_of(long)] == ["chunks of 200", "sections of 500", "sections of 1500"]
    assert [name_of(one) for one in sizes_of(short)] == ["chunks of 200", "whole documents"]
    assert sizes_of(short)[0] == Sizes(200)


def test_the_page_has_every_denominator(tokenizer: TextTokenizer, tmp_path: Path) -> None:
    whole = evidence_of([annotated("q1", SEAL, FLOW)], [text(0, len(DOCUMENT))])
    limits = (128, 256, 512, 1024)
    policy = Policy().with_pairs(min_doc_tokens=16)
    plan = Plan(current=policy, proposed=policy, limits=limits)
    run = run_plan(manifest(), plan, FakeReader(), tmp_path / "unfinished", lambda *_: None)
    cells = survival_by_position(whole, tokenizer, limits)
    found = Passages("hotpotqa", "whole documents", 1, 130, 130.0, cells, 2, losses_of(run))
    said = page([found])
    assert "| HotpotQA | whole documents (130, 130) | 128 | 1.000 [1.000, 1.000], 1 of 1 | none there | 0.000" in said
    assert "`steelyard evidence survival --questions 2 --write" in said
    assert "whole documents, pairs of 128 (n = 4 pieces of 2 questions): retrieval 0, the pair 2, 0 of which" in said
    assert "pairs of 1024 (n" not in said
    assert said.count("\n| HotpotQA |") == 2 * len(limits)


class Counting:
    """A backend that counts what it is asked and refuses blank-looking texts."""

    model_id, revision = "counting", "1"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.policy: dict[str, object] = {}

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        self.asked += texts
        return [RowFault("text_refused", "no") if text == "bad" else len(text) / 100 for text in texts]

    async def probe(self) -> None:
        """Always ready."""


def scored(backend: RememberedBackend, query: str, *texts: str) -> list[float | RowFault]:
    return asyncio.run(backend.scores(query, texts))


def test_a_score_is_asked_for_once_also_by_the_next_call(tmp_path: Path) -> None:
    backend, file = Counting(), tmp_path / "scores" / "1.sqlite"
    first = RememberedBackend(backend, file)
    assert scored(first, "q", "a", "bbb", "a") == [0.01, 0.03, 0.01]
    assert scored(first, "other", "a") == [0.01]
    assert backend.asked == ["a", "bbb", "a"]
    first.close()
    again = RememberedBackend(backend, file)
    assert scored(again, "q", "bbb", "cc") == [0.03, 0.02]
    assert backend.asked == ["a", "bbb", "a", "cc"]
    again.close()


def test_a_fault_is_asked_for_again(tmp_path: Path) -> None:
    backend = Counting()
    remembered = RememberedBackend(backend, tmp_path / "1.sqlite")
    for _ in range(2):
        assert scored(remembered, "q", "bad", "a") == [RowFault("text_refused", "no"), 0.01]
    assert backend.asked == ["bad", "a", "bad"]
    remembered.close()


def test_a_damaged_file_of_scores_is_named(tmp_path: Path) -> None:
    (tmp_path / "1.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(CacheError, match=r"1\.sqlite: can not be read, remove it"):
        RememberedBackend(Counting(), tmp_path / "1.sqlite")


def test_without_the_data_it_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no evaluation data there; STEELYARD_EVAL_DATA names"):
        survival_study(tmp_path / "absent", tmp_path, 1, lambda *_: None)
