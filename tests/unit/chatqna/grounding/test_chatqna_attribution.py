import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_chatqna.grounding import Attribution, SentChunk, attribute, text_sha256
from steelyard_chatqna.grounding.attribution import Attributor
from steelyard_chatqna.grounding.policy import Decision, decide
from steelyard_chatqna.grounding.sentences import split_sentences
from steelyard_contracts.documents import CandidateMetadata
from steelyard_contracts.enums import GroundednessPolicy

PUMP = (
    "The AX-104-B is a centrifugal pump. It weighs 8.5 kg and delivers 35 l/min. "
    "The pump must not be run dry. The filter can be cleaned without tools."
)
BOLTS = "Tighten the cover bolts to 35 Nm. Tighten the base bolts to 50 Nm. The inlet pressure is 4 bar."


def chunks(*texts: str) -> list[SentChunk]:
    return [SentChunk(marker, f"c{marker}", text) for marker, text in enumerate(texts, start=1)]


def judge(answer: str, *texts: str, question: str = "") -> Attribution:
    return attribute(answer, chunks(*(texts or (PUMP, BOLTS))), question)


def missing(answer: str, *texts: str, question: str = "") -> list[list[str]]:
    return [span.missing for span in judge(answer, *texts, question=question).unsupported]


def test_the_pump_that_is_painted_black_when_nothing_says_so() -> None:
    question = "What colour is the pump?"
    result = judge("The pump is painted black.", question=question)
    assert [span.missing for span in result.unsupported] == [["painted", "black"]]
    assert result.citations == []
    assert result.supported_facts == []
    assert result.unsupported_facts == ["painted", "black"]
    for answer in ("Black.", "Sure, the pump is painted black.", "Here is the answer: The pump is painted black."):
        assert missing(answer, question=question), answer
    assert missing("The AX-104-B is a centrifugal pump that weighs 8.5 kg and is painted black.")
    assert not missing("The pump is painted black.", "The pump is painted black.", question=question)


def test_a_citation_stands_in_the_coordinates_of_the_stored_document() -> None:
    document = "x" * 40 + PUMP
    metadata = CandidateMetadata(
        chunk_id="c7", document_id="manual", revision="3", source="manual.pdf", title="Manual", section="Data", page=2,
        char_start=40, char_end=40 + len(PUMP), scope="all",
    )  # fmt: skip
    answer = "Here you are. It weighs 8.5 kg."
    (citation,) = attribute(answer, [SentChunk(3, "c7", PUMP, metadata)]).citations
    assert (citation.marker, citation.chunk_id, citation.document_id, citation.revision) == (3, "c7", "manual", "3")
    assert (citation.source, citation.title, citation.section, citation.page) == ("manual.pdf", "Manual", "Data", 2)
    assert (citation.char_start, citation.char_end) == (40, len(document))
    assert document[citation.quote_start : citation.quote_end] == citation.quote
    assert citation.quote == "It weighs 8.5 kg and delivers 35 l/min."
    assert answer[citation.answer_start : citation.answer_end] == "It weighs 8.5 kg."
    assert citation.sha256 == text_sha256(PUMP)
    assert citation.support == 1.0


def test_a_bare_text_is_its_own_document() -> None:
    (citation,) = judge("It weighs 8.5 kg.").citations
    assert (citation.document_id, citation.revision, citation.source) == (None, None, "c1")
    assert PUMP[citation.quote_start : citation.quote_end] == citation.quote


def test_a_sentence_may_need_two_chunks() -> None:
    result = judge("The pump delivers 35 l/min, and the cover bolts are tightened to 35 Nm.")
    assert result.unsupported == []
    assert [citation.marker for citation in result.citations] == [1, 2]
    assert all(0.0 < citation.support < 1.0 for citation in result.citations)


def test_a_partly_supported_sentence_is_marked_and_cites_the_part() -> None:
    result = judge("It weighs 8.5 kg, and its warranty includes shipping damage.")
    assert [span.missing for span in result.unsupported] == [["warranty", "shipping", "damage"]]
    (citation,) = result.citations
    assert citation.quote.startswith("It weighs 8.5 kg")
    assert citation.support == pytest.approx(4 / 7, abs=1e-4)


def test_support_is_the_weighted_share_of_the_key_facts_in_the_quote() -> None:
    (citation,) = judge("The handy filter is cleaned without tools.").citations
    assert citation.support == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ("The cover bolts are tightened to 53 Nm.", ["53 Nm"]),
        ("The cover bolts are tightened to 35 bar.", ["35 bar"]),
        ("The cover bolts are tightened to 50 Nm.", ["50 Nm"]),
        ("The AX-104-C weighs 8.5 kg.", ["AX-104-C"]),
        ("Es wiegt 9,5 kg.", ["9,5 kg"]),
    ],
)
def test_wrong_values_are_named(answer: str, facts: list[str]) -> None:
    assert missing(answer) == [facts]


@pytest.mark.parametrize(
    ("answer", "cue"),
    [
        ("The pump must be run dry.", "not"),
        ("The pump does not weigh 8.5 kg.", "not"),
        ("The filter can be cleaned with tools.", "without"),
        ("The filter cannot be cleaned without tools.", "cannot"),
    ],
)
def test_a_contradiction_names_the_negation(answer: str, cue: str) -> None:
    assert missing(answer) == [[cue]]


def test_a_double_negation_and_its_paraphrase_agree() -> None:
    assert not missing("Never run the pump dry.")
    assert not missing("The pump is never to be run dry.")
    assert not missing("You don't need any tools: the filter is cleaned without tools.")


def test_the_value_of_something_else_is_not_support() -> None:
    text = "The inlet pressure is 4 bar, the outlet pressure is 6 bar."
    assert not missing("The outlet pressure is 6 bar.", text)
    assert missing("The inlet pressure is 6 bar.", text) == [["6 bar"]]
    assert missing("6 bar", text, question="What is the inlet pressure?") == [["6 bar"]]
    table = "| Model | Weight (kg) | Head (m) |\n|---|---|---|\n| AX-1 | 12 | 20 |\n| AX-2 | 20 | 12 |"
    assert not missing("The AX-1 weighs 12 kg.", table)
    assert missing("The AX-1 weighs 20 kg.", table) == [["20 kg"]]
    assert missing("20 kg", table, question="How much does the AX-1 weigh?") == [["20 kg"]]


def test_numbers_that_are_written_alike_are_kept_apart() -> None:
    row = "other products | 980 | -367 (367) | 613"
    assert not missing(row, f"all products | 1000 | 20 | 30\n{row}")
    assert missing("The balance is -367.", "The balance is 367.") == [["367"]]
    assert missing("There are 64 beds and 64 nurses.", "There are 64 beds.") == [["64"]]


def test_a_model_that_no_chunk_knows_is_not_answered_by_its_sibling() -> None:
    question = "How much does the AX-400 weigh?"
    assert missing("8.5 kg", question=question) == [["ax-400"]]
    assert missing("The AX-400 weighs 8.5 kg.", question=question) == [["AX-400"]]
    assert not missing("8.5 kg", question="How much does the H2O pump weigh?")


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ("Der neue Liefertermin des Auftrags 77-1203 ist der 4. Juli 2025.", []),
        ("Der neue Liefertermin des Auftrags 77-1204 ist der 4. Juli 2025.", ["77-1204"]),
        ("Der neue Liefertermin des Auftrags 77-1203 ist der 5. Juli 2025.", ["5. Juli 2025"]),
        ("Der Auftrag 77-1299 kommt am 2. Mai 2025.", []),
        ("Der Auftrag 77-1203 kommt am 2. Mai 2025.", ["2. Mai 2025"]),
    ],
)
def test_an_order_number_holds_for_what_the_next_sentence_says(answer: str, facts: list[str]) -> None:
    mail = "Der Auftrag 77-1203 (24 Ventile) verzögert sich um drei Wochen. Der neue Liefertermin ist der 4. Juli 2025."
    other = "Der Auftrag 77-1299 ist pünktlich. Er kommt am 2. Mai 2025."
    question = "Wann kommt der Auftrag 77-1203?"
    assert missing(answer, f"{mail}\n\n{other}", question=question) == ([facts] if facts else [])


def test_a_value_of_another_dimension_does_not_answer() -> None:
    assert missing("The price of the pump is 8.5 kg.", question="What is the price of the pump?") == [["8.5 kg"]]


def test_a_name_has_to_stand_with_what_is_asked() -> None:
    text = "The estate was founded by Margaret Strand."
    question = "Who is the factory manager?"
    assert missing("The factory manager is Margaret Strand.", text, "The factory runs.", question=question)
    assert not missing("It was founded by Margaret Strand.", text, question="Who founded the estate?")


@pytest.mark.parametrize(
    ("answer", "supported"),
    [
        ("Yes.", False),
        ("No.", True),
        ("No", True),
        ("Yes, it can.", False),
        ("No, it can't.", True),
        ("No, it is not.", True),
    ],
)
def test_a_bare_yes_or_no_is_judged_as_the_question(answer: str, supported: bool) -> None:
    result = judge(answer, question="Can the pump be run dry?")
    assert (not result.unsupported) == supported
    assert [bool(result.supported_facts), bool(result.unsupported_facts)] == [supported, not supported]


def test_a_no_is_supported_by_another_value() -> None:
    assert not missing("No.", question="Are the cover bolts tightened to 40 Nm?")
    assert missing("Yes.", question="Are the cover bolts tightened to 40 Nm?")
    assert missing("No.", question="Are the cover bolts tightened to 35 Nm?")
    assert missing("No.", question="Is the crane made of wood?")


@pytest.mark.parametrize(
    "answer",
    [
        "", " \n", "Sure!", "Here are the data:", "# Technical data", "I hope this helps.", "I don't know.",
        "The context does not mention the AX-400.", "Do you need more?", "Gern!", "Das ist im Text nicht angegeben.",
        "記載がありません。", "不知道。", "لا أعرف.",
    ],
)  # fmt: skip
def test_what_claims_nothing_is_neither_supported_nor_unsupported(answer: str) -> None:
    assert judge(answer) == Attribution([], [], [], [])


@pytest.mark.parametrize("answer", [".\u00a0.", ",\u00a0。\u00a0It weighs 8.5 kg.", "- \u2003-"])
def test_punctuation_around_a_space_claims_nothing(answer: str) -> None:
    assert judge(answer, question="How heavy is it?").unsupported == []


def test_a_refusal_with_a_value_of_its_own_claims() -> None:
    assert missing("I don't know, but it weighs 53 kg.") == [["53 kg"]]


def test_words_of_the_question_are_no_key_facts() -> None:
    result = judge("The torque of the cover bolts is 35 Nm.", question="What is the torque of the cover bolts?")
    assert result.supported_facts == ["35 Nm"]


def test_nothing_sent_supports_nothing() -> None:
    assert attribute("It weighs 8.5 kg.", []).unsupported_facts == ["weighs", "8.5 kg"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Die Schrauben werden mit 35 Nm angezogen.", BOLTS),
        ("ボルトは35N·mです。", BOLTS),
        ("شد البراغي بعزم ٣٥ نيوتن متر.", BOLTS),
        ("The housing is black.", "Das Gehäuse ist schwarz."),
    ],
)
def test_values_and_colours_support_across_languages(answer: str, text: str) -> None:
    assert judge(answer, text).citations
    assert missing(answer, "The shaft is red.")


SENTENCES = st.sampled_from(
    [
        *(PUMP[s.start : s.end] for s in split_sentences(PUMP)),
        *(BOLTS[s.start : s.end] for s in split_sentences(BOLTS)),
        "Die Gleitringdichtung ist alle 4.000 Betriebsstunden zu ersetzen.",
        "空運転をしてはいけません。",
        "泵体为铸铁，轴为不锈钢。",
        "لا يجوز تشغيل المضخة بدون ماء.",
        "| AX-300-C | 22.4 | 16 | ZQ-90 |",
    ]
)


@pytest.mark.parametrize(
    ("evidence", "answer", "marked"),
    [
        ("The two pumps are red.", "No, the two pumps are red.", [["no"]]),
        ("The two pumps are red.", "Yes, the two pumps are red.", []),
        ("The two pumps are not red.", "No, the two pumps are not red.", []),
        ("The two pumps are not red.", "No two pumps are red.", []),
        ("The two pumps are not red.", "Yes, the two pumps are not red.", [["yes"]]),
        ("The three pumps are red.", "No, the three pumps are red.", []),
    ],
)
def test_a_verdict_that_goes_on_as_the_opposite_is_unsupported(
    evidence: str, answer: str, marked: list[list[str]]
) -> None:
    assert missing(answer, evidence, question="Are the two pumps red?") == marked


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How often is the pump calibrated?", "Yes"),
        ("定量注入装置の校正は何か月ごとに行いますか。", "Yes"),
        ("Wie schwer ist die Pumpe?", " Ja. "),
    ],
)
def test_a_yes_is_no_answer_to_a_question_for_something_else(question: str, answer: str) -> None:
    result = judge(
        answer, "The pump is calibrated every 3 months. 校正は3か月ごとに行ってください。", question=question
    )
    assert result.citations == []
    assert [span.missing for span in result.unsupported] == [[answer.strip()]]
    assert decide(result, GroundednessPolicy.ABSTAIN) is Decision.ABSTAIN


def test_one_german_sentence_of_a_long_english_chunk_is_read_as_german() -> None:
    german = "Die Gleitringdichtung ist alle 4.000 Betriebsstunden zu ersetzen."
    chunk = "\n".join([german, *["The pump must not be run dry."] * 20])
    assert judge(german, chunk).unsupported == []
    assert judge("Die Gleitringdichtung ist alle 4 Betriebsstunden zu ersetzen.", chunk).unsupported != []


@settings(max_examples=60)
@given(st.lists(SENTENCES, min_size=1, max_size=6), st.data())
def test_a_sentence_of_a_sent_chunk_is_supported_by_it(sentences: list[str], data: st.DataObject) -> None:
    answer = data.draw(st.sampled_from(sentences))
    result = judge(answer, "\n".join(sentences))
    assert result.unsupported == []
    assert any(citation.quote == answer for citation in result.citations)


@settings(max_examples=60)
@given(st.text(max_size=80), st.lists(st.text(max_size=120), max_size=3), st.text(max_size=40))
def test_any_text_is_judged_with_spans_that_are_true(answer: str, texts: list[str], question: str) -> None:
    sent = chunks(*texts)
    result = attribute(answer, sent, question)
    for span in result.unsupported:
        assert answer[span.answer_start : span.answer_end] == span.text
        assert span.missing
    for citation in result.citations:
        assert 0.0 <= citation.support <= 1.0
        assert sent[citation.marker - 1].text[citation.quote_start : citation.quote_end] == citation.quote
    assert bool(result.unsupported) == bool(result.unsupported_facts)


GROWING = (
    "It weighs 8.5 kg. Tighten the cover bolts to 50 Nm and the base bolts to 50 Nm. It weighs 8.5 kg.\n"
    "- The filter can be cleaned without tools\n- Die Pumpe ist schwarz lackiert.\n\nNo, it must not be run dry."
)


def test_an_answer_that_grows_is_judged_like_each_of_its_beginnings() -> None:
    question = "How heavy is the AX-104-B, and may it run dry?"
    growing = Attributor(chunks(PUMP, BOLTS), question)
    for end in range(len(GROWING) + 1):
        assert growing.attribute(GROWING[:end]) == judge(GROWING[:end], question=question), GROWING[:end]
