"""A candidate's text in passages: nothing of it is lost, and each letter is marked as what it is."""

from hypothesis import given
from hypothesis import strategies as st

from steelyard_chatqna.web.passages import passages
from steelyard_contracts.answers import Citation, Evidence
from steelyard_contracts.enums import PairPolicy
from steelyard_contracts.ledger import LedgerEntry, PairReport

from ..fakes import metadata

TEXT = "Erst. 部品は 五年。 العربية 🙂 last."
START = 10


def entry(*kept: tuple[int, int]) -> LedgerEntry:
    pair = PairReport(
        tokens_total=9, tokens_kept=5, truncated=True, policy=PairPolicy.TRUNCATE, kept_spans=list(kept), query_tokens=2
    )
    return LedgerEntry.model_validate(
        {"chunk_id": "c", "retrieval_rank": 1, "fate": "dropped", "reason": "over_top_n", "pair": pair.model_dump()}
    )


def citation(start: int, end: int, chunk_id: str = "c") -> Citation:
    return Citation(
        marker=1,
        chunk_id=chunk_id,
        source="s",
        char_start=START,
        char_end=START + len(TEXT),
        sha256="0",
        quote=TEXT[start:end],
        quote_start=START + start,
        quote_end=START + end,
        answer_start=0,
        answer_end=1,
        support=1.0,
    )


def found(text: str = TEXT) -> Evidence:
    return Evidence(chunk_id="c", text=text, metadata=metadata("c", text))


def test_what_was_not_read_and_what_is_cited_are_marked_apart() -> None:
    parts = passages(found(), entry((0, 12)), [citation(0, 5)])
    assert [(part.text, part.read, part.cited) for part in parts] == [
        (TEXT[:5], True, True),
        (TEXT[5:12], True, False),
        (TEXT[12:], False, False),
    ]


def test_citations_of_other_chunks_mark_nothing() -> None:
    assert not any(part.cited for part in passages(found(), entry((0, 99)), [citation(0, 5, "other")]))


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(lambda it: (min(it), max(it))), max_size=4)


@given(st.text(max_size=50), spans, spans)
def test_the_passages_put_together_are_the_text(text: str, kept: list[tuple[int, int]], quoted: list[tuple[int, int]]):
    parts = passages(found(text), entry(*kept), [citation(*span) for span in quoted])
    assert "".join(part.text for part in parts) == text
    place = 0
    for part in parts:
        assert part.read == any(start <= place < end for start, end in kept)
        assert part.cited == any(start <= place < end for start, end in quoted)
        place += len(part.text)
