"""What is remembered of a chunk is shared by all answers that rest on it: none may see what another one did with it."""

import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from steelyard_chatqna.grounding import Attribution, SentChunk, attribute
from steelyard_chatqna.grounding.chunk_index import ChunkIndex
from steelyard_chatqna.grounding.chunks import read_chunk
from steelyard_chatqna.grounding.remembered import REMEMBERED, RememberedChunks

MANUAL = (
    "# AX-104-B pump\nThe AX-104-B weighs 8.5 kg and delivers 35 l/min.\nTighten the cover bolts to 35 Nm. "
    "Tighten the base bolts to 50 Nm. The pump must not be run dry."
)
TABLE = "| Model | Weight (kg) | Head (m) |\n|---|---|---|\n| AX-104-B | 8.5 | 20 |\n| AX-200 | 14 | 12 |"
GERMAN = "Die Deckelschrauben der AX-104-B werden mit 35 Nm angezogen. Das Gehäuse ist schwarz, die Welle ist rot."
JAPANESE = "AX-104-Bの質量は8.5kgです。空運転をしてはいけません。"
CHUNKS = (MANUAL, TABLE, GERMAN, JAPANESE)
ORDERS = ((0, 1, 2, 3), (3, 2, 1, 0), (1, 0), (0, 0), (2, 1, 2), (3,))
ANSWERS = (
    (
        "What do I tighten the cover bolts to?",
        "Tighten the cover bolts to 35 Nm. The base bolts need 35 Nm.",
    ),
    ("Which one is heavier?", "The AX-200 weighs 14 kg, the AX-104-B weighs 8.5 kg. The AX-104-B weighs 14 kg."),
    ("Darf die Pumpe trocken laufen?", "Nein. Die Schraube wird mit 35 Nm angezogen. Das Gehäuse ist rot."),
    ("空運転できますか。", "いいえ。質量は8.5kgです。空運転をしてはいけません。"),
    ("May it run dry?", "Yes. The pump must not be run dry for 30 seconds, and the AX-300 weighs 14 kg."),
)
LOOKED_UP = ("_equals", "_rivals")
"""What is kept of what was asked; the rest is what it is made from."""

CASES = [(order, question, answer) for order in ORDERS for question, answer in ANSWERS]


def judged(case: tuple[tuple[int, ...], str, str]) -> Attribution:
    order, question, answer = case
    sent = [SentChunk(marker, f"c{marker}", CHUNKS[place]) for marker, place in enumerate(order, start=1)]
    return attribute(answer, sent, question)


def judged_afresh(case: tuple[tuple[int, ...], str, str]) -> Attribution:
    REMEMBERED.forget()
    return judged(case)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    REMEMBERED.forget()
    yield
    REMEMBERED.forget()


def test_a_remembered_chunk_supports_what_it_supports_when_it_is_read_afresh() -> None:
    afresh = [judged_afresh(case) for case in CASES]
    REMEMBERED.forget()
    for _ in range(2):
        assert [judged(case) for case in CASES] == afresh
        assert [judged(case) for case in reversed(CASES)] == afresh[::-1]


def test_a_chunk_that_was_sent_twice_is_cited_where_it_is_better_and_not_mixed_up() -> None:
    (citation,) = judged(((1, 0), "", "Tighten the base bolts to 50 Nm.")).citations
    assert (citation.marker, citation.chunk_id, citation.quote) == (2, "c2", "Tighten the base bolts to 50 Nm.")
    (citation,) = judged(((0, 0), "", "Tighten the base bolts to 50 Nm.")).citations
    assert citation.marker == 1
    assert MANUAL[citation.quote_start : citation.quote_end] == citation.quote


def test_threads_that_judge_at_once_share_chunks_and_nothing_else() -> None:
    afresh = [judged_afresh(case) for case in CASES]
    REMEMBERED.forget()
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(judged, CASES * 3)) == afresh * 3


def test_judging_changes_nothing_of_what_is_remembered() -> None:
    known = [REMEMBERED.index(text) for text in CHUNKS]
    before = [copy.deepcopy(state(index)) for index in known]
    for case in CASES:
        judged(case)
    assert [REMEMBERED.index(text) is index for text, index in zip(CHUNKS, known, strict=True)] == [True] * len(CHUNKS)
    assert [state(index) for index in known] == before
    assert [state(ChunkIndex(read_chunk(text))) for text in CHUNKS] == before


def state(index: ChunkIndex) -> list[object]:
    places = {key: index.places(key) for key in index.keys}
    values = {name: held for name, held in vars(index.values).items() if name not in LOOKED_UP}
    return [index.sentences, index.codes, places, index.identifiers, index.under, values]


def test_few_chunks_are_remembered_and_the_last_used_stay() -> None:
    chunks = RememberedChunks(most=2, characters=1000)
    first, second = chunks.index("One."), chunks.index("Two.")
    assert chunks.index("One.") is first
    chunks.index("Three.")
    assert chunks.index("One.") is first
    assert chunks.index("Two.") is not second


def test_a_chunk_under_another_label_is_another_one() -> None:
    chunks = RememberedChunks(most=2, characters=1000)
    plain, labelled = chunks.index("One."), chunks.index("One.", "Title")
    assert plain.label is None
    assert labelled.label == 1
    assert chunks.index("One.", "Title") is labelled
    assert chunks.index("One.") is plain


def test_long_chunks_do_not_fill_the_memory() -> None:
    chunks = RememberedChunks(most=100, characters=20)
    first, second = chunks.index("Ten chars."), chunks.index("Ten more..")
    assert chunks.index("Ten chars.") is first
    chunks.index("Six...")
    assert chunks.index("Ten chars.") is first
    assert chunks.index("Ten more..") is not second


def test_one_chunk_that_is_longer_than_all_that_is_kept_is_kept_until_the_next() -> None:
    chunks = RememberedChunks(most=100, characters=20)
    small, long = chunks.index("Six..."), chunks.index("This one is longer than all that is kept.")
    assert chunks.index("This one is longer than all that is kept.") is long
    again = chunks.index("Six...")
    assert again is not small
    assert chunks.index("This one is longer than all that is kept.") is not long
    assert chunks.index("Six...") is not again
