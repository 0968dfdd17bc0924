import pytest

from steelyard_chatqna.grounding import SentChunk, attribute, extract

SENT = [
    SentChunk(1, "a", "# Pump\nIt is for clean water. Tighten the cover bolts to 35 Nm. The pump must not be run dry."),
    SentChunk(2, "b", "Die Dichtung ist alle 4.000 Stunden zu ersetzen. Das Lager wird geschmiert."),
    SentChunk(3, "c", "カバーのボルトは35N·mで締め付けてください。空運転をしてはいけません。"),
    SentChunk(4, "d", "لا يجوز تشغيل المضخة بدون ماء. تزن المضخة ٨٫٥ كغ."),
    SentChunk(5, "e", "The seal is part ZQ-77. The seal lasts 4,000 hours."),
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What torque do the cover bolts need?", "Tighten the cover bolts to 35 Nm."),
        ("May the pump be run dry?", "The pump must not be run dry."),
        ("How long does the seal last?", "The seal lasts 4,000 hours."),
        ("Wann ist die Dichtung zu ersetzen?", "Die Dichtung ist alle 4.000 Stunden zu ersetzen."),
        ("空運転をしてもいいですか?", "空運転をしてはいけません。"),
        ("كم تزن المضخة؟", "تزن المضخة ٨٫٥ كغ."),
    ],
)
def test_the_best_sentence_is_given_verbatim(question: str, answer: str) -> None:
    result = extract(question, SENT)
    assert result is not None
    assert result.answer == answer


@pytest.mark.parametrize(
    "question", ["Who founded the company?", "What colour is the crane?", "", "?", "And the AX-900?"]
)
def test_a_question_about_something_else_has_no_answer(question: str) -> None:
    assert extract(question, SENT) is None


def test_nothing_sent_has_no_answer() -> None:
    assert extract("What torque do the cover bolts need?", []) is None


def test_every_line_is_cited_and_supported_by_what_it_quotes() -> None:
    sent = [SentChunk(1, "a", "The seal is part ZQ-77."), SentChunk(2, "b", "Replace the filter every 90 days.")]
    result = extract("Which part is the seal and how often is the filter replaced?", sent)
    assert result is not None
    assert [citation.marker for citation in result.citations] == [1, 2]
    for citation in result.citations:
        assert result.answer[citation.answer_start : citation.answer_end] == citation.quote
        assert sent[citation.marker - 1].text[citation.quote_start : citation.quote_end] == citation.quote
        assert 0.0 < citation.support <= 1.0
    assert attribute(result.answer, sent).unsupported == []


def test_a_heading_is_no_answer() -> None:
    result = extract("pump", [SentChunk(1, "a", "# Pump\nThe pump is old.")])
    assert result is not None
    assert result.answer == "The pump is old."
