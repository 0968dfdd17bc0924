import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_chatqna.grounding import SentChunk, resolve

SENT = [
    SentChunk(1, "bolts", "Use oil. The torque is 35 Nm."),
    SentChunk(2, "paint", "The pump is red. It is new."),
]


def cited(answer: str) -> list[tuple[int, str, str]]:
    result = resolve(answer, SENT)
    return [(c.marker, c.quote, result.answer[c.answer_start : c.answer_end]) for c in result.citations]


@pytest.mark.parametrize(
    ("answer", "cleaned", "invented"),
    [
        ("It is 35 Nm [1].", "It is 35 Nm [1].", 0),
        ("It is 35 Nm [7].", "It is 35 Nm.", 1),
        ("It is 35 Nm [1][7].", "It is 35 Nm [1].", 1),
        ("It is 35 Nm [7, 1, 8, 2].", "It is 35 Nm [1, 2].", 2),
        ("It is 35 Nm [0].", "It is 35 Nm.", 1),
        ("It is 35 Nm【1】 and red［2］.", "It is 35 Nm[1] and red[2].", 0),
        ("See `a[9]` and [9](x) and [2024].", "See `a[9]` and [9](x) and [2024].", 0),
        ("```\na[9]\n``` [9]", "```\na[9]\n```", 1),
        ("It is 35 Nm [1-2].", "It is 35 Nm [1, 2].", 0),
        ("It is 35 Nm [1–4].", "It is 35 Nm [1, 2].", 2),
        ("It is 35 Nm [2-1].", "It is 35 Nm [2, 1].", 0),
        ("See ``a`[9]`` and ~~~\nb[9]\n~~~ [9].", "See ``a`[9]`` and ~~~\nb[9]\n~~~.", 1),
        ("It`s 35 Nm [9].\nIt`s red [2].", "It`s 35 Nm.\nIt`s red [2].", 1),
        ("[1](http://x/[9]) is [1][9](y)", "[1](http://x/) is [1][9](y)", 1),
        ("[1]", "[1]", 0),
        ("[3]", "", 1),
        ("", "", 0),
    ],
)
def test_markers_are_kept_or_taken_out(answer: str, cleaned: str, invented: int) -> None:
    result = resolve(answer, SENT)
    assert (result.answer, result.invented_markers) == (cleaned, invented)


def test_a_marker_cites_the_best_sentence_of_its_chunk() -> None:
    assert cited("The torque is 35 Nm [1]. It is red [2].") == [
        (1, "The torque is 35 Nm.", "The torque is 35 Nm [1]."),
        (2, "The pump is red.", "It is red [2]."),
    ]


def test_a_marker_behind_the_full_stop_belongs_to_the_sentence_before() -> None:
    assert cited("The torque is 35 Nm. [1] The pump is red. [2]") == [
        (1, "The torque is 35 Nm.", "The torque is 35 Nm."),
        (2, "The pump is red.", "The pump is red."),
    ]


def test_one_sentence_cites_a_chunk_once_and_in_the_order_of_the_text() -> None:
    assert [marker for marker, _, _ in cited("It is red [2] and 35 Nm [1], red [2].")] == [2, 1]


def test_a_chunk_that_does_not_support_is_quoted_whole_with_support_0() -> None:
    (citation,) = resolve("The torque is 35 Nm [2].", SENT).citations
    assert (citation.quote, citation.support) == (SENT[1].text, 0.0)


@given(st.text(alphabet="[]0123456789,-`~ \n.aA(", max_size=60))
def test_no_invented_marker_is_left(answer: str) -> None:
    result = resolve(answer, SENT)
    again = resolve(result.answer, SENT)
    assert all(citation.marker in (1, 2) for citation in result.citations)
    assert all(result.answer[c.answer_start : c.answer_end] for c in result.citations)
    if result.invented_markers == 0:
        assert again.answer == result.answer
