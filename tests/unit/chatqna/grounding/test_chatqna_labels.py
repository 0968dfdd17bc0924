"""What a label says is evidence of its document, and of no other; there is no span of a text to quote for it."""

import pytest

from steelyard_chatqna.grounding import SentChunk, attribute, extract, resolve

OLD = "Bulletin SB-031 Rev A: gland bolts, section Retightening"
NEW = "Bulletin SB-031 Rev B: gland bolts, section Retightening"
EIGHT = "Retighten the gland bolts after 8 operating hours."
DAY = "Retighten the gland bolts after 24 operating hours."
SENT = [SentChunk(1, "a", EIGHT, label=OLD), SentChunk(2, "b", DAY, label=NEW)]


def missing(answer: str, question: str = "", sent: list[SentChunk] = SENT) -> list[str]:
    return [name for span in attribute(answer, sent, question).unsupported for name in span.missing]


@pytest.mark.parametrize(
    ("answer", "marked"),
    [
        ("Bulletin SB-031 Rev A asks to retighten them after 8 operating hours.", False),
        ("Bulletin SB-031 Rev A asks to retighten them after 24 operating hours.", True),
        ("According to revision B, the gland bolts are retightened after 24 operating hours.", False),
        ("According to SB-031 Rev. B, the gland bolts are retightened after 8 operating hours.", True),
        ("Rev A says 8 hours, Rev B says 24 hours.", False),
        ("Rev A says 24 hours, Rev B says 8 hours.", True),
        ("It stands in the section Retightening of Bulletin SB-031 Rev A.", False),
        ("It stands in Bulletin SB-031 Rev D.", True),
    ],
)
def test_a_fact_is_of_the_document_that_it_stands_in(answer: str, marked: bool) -> None:
    assert bool(missing(answer)) == marked
    unlabelled = [SentChunk(one.marker, one.chunk_id, one.text) for one in SENT]
    assert missing(answer, sent=unlabelled)


@pytest.mark.parametrize(("answer", "marked"), [("After 8 operating hours.", False), ("After 24 hours.", True)])
def test_what_the_question_asks_of_one_edition_is_not_answered_from_another(answer: str, marked: bool) -> None:
    assert bool(missing(answer, "After how many hours according to Rev A?")) == marked
    assert not missing(answer, "After how many hours?")
    assert not missing(answer, "What do Rev A and Rev B say?")


def test_a_text_may_tell_of_another_edition_than_its_own() -> None:
    told = SentChunk(3, "c", "After Rev A, it was seen that eleven bolts came loose.", label=NEW)
    assert not missing("According to Rev B, eleven bolts came loose after Rev A.", sent=[*SENT, told])
    assert not missing("Eleven bolts came loose.", "What happened after Rev A?", [*SENT, told])


@pytest.mark.parametrize(
    ("label", "answer", "marked"),
    [
        ("Handbook, section 7 Bolts, page 5", "It stands on page 5 of the Handbook.", False),
        ("Handbook, section 7 Bolts, page 5", "It stands on page 6 of the Handbook.", True),
        ("Handbook, section 7 Bolts, page 5", "It stands in section 7.", False),
        ("Handbook, section 7 Bolts, page 5", "It stands in section 5.", True),
        ("Handbook, section 7 Bolts, page 5", "There are 7 bolts.", True),
        ("Handbook, section 7 Bolts, page 5", "There are 5 bolts.", True),
        ("Prices 2025", "In 2025 the cover is red.", False),
        ("Prices 2025", "In 2024 the cover is red.", True),
        ("Policy, edition 4", "In edition 4 the cover is red.", False),
        ("Policy, edition 4", "In edition 3 the cover is red.", True),
        ("Policy, edition 4", "There are 4 red covers.", True),
    ],
)
def test_numbers_of_a_label_are_of_what_they_name(label: str, answer: str, marked: bool) -> None:
    assert bool(missing(answer, sent=[SentChunk(1, "a", "The cover is red. Tighten it.", label=label)])) == marked


@pytest.mark.parametrize(("answer", "marked"), [("Steht auf Seite 5.", False), ("Steht auf Seite 6.", True)])
def test_pages_and_sections_have_names_in_other_languages(answer: str, marked: bool) -> None:
    chunk = SentChunk(1, "a", "Die Kaution beträgt drei Monatsmieten und ist zu zahlen.", label="Mietvertrag, page 5")
    assert bool(missing(answer, sent=[chunk])) == marked


def test_a_model_in_a_label_is_no_sibling_of_another_in_the_text() -> None:
    text = "The AX-104-B has four bolts. They take 24 Nm."
    sent = [SentChunk(1, "a", text, label="AX-104 Handbook"), SentChunk(2, "b", "The AX-104-C takes 26 Nm.")]
    assert not missing("The bolts of the AX-104-B take 24 Nm.", sent=sent)
    assert not missing("According to the AX-104 Handbook, the bolts of the AX-104-B take 24 Nm.", sent=sent)
    assert missing("The bolts of the AX-104-B take 26 Nm.", sent=sent)


def test_a_label_is_never_quoted() -> None:
    (citation,) = attribute("Rev B asks to retighten the gland bolts after 24 operating hours.", SENT).citations
    assert (citation.chunk_id, citation.quote) == ("b", DAY)
    assert 0.0 < citation.support < 1.0
    (citation,) = attribute("It is Bulletin SB-031 Rev B.", SENT).citations
    assert (citation.chunk_id, citation.quote, citation.support) == ("b", DAY, 0.0)
    (citation,) = resolve("It is Bulletin SB-031 Rev B [2].", SENT).citations
    assert (citation.chunk_id, citation.quote, citation.support) == ("b", DAY, 0.0)
    two = [SentChunk(1, "a", f"{EIGHT} {DAY}", label=NEW)]
    (citation,) = attribute("It is Bulletin SB-031 Rev B.", two).citations
    assert citation.quote == two[0].text


def test_extraction_prefers_the_document_that_was_asked_for_and_writes_no_label() -> None:
    for name, text in (("Rev A", EIGHT), ("Rev B", DAY)):
        extracted = extract(f"After how many operating hours are gland bolts retightened according to {name}?", SENT)
        assert extracted is not None
        assert extracted.answer == text
    assert extract("Which Bulletin has the section Retightening?", [SentChunk(1, "a", "It is red.", label=OLD)]) is None


@pytest.mark.parametrize(
    ("question", "answer", "marked"),
    [
        ("Who wrote the foreword of the book?", "The foreword of the book was written by Rust's creators.", True),
        ("What does Rc stand for?", "Rc stands for Reference Counted.", False),
    ],
)
def test_the_title_of_a_book_does_not_hold_what_else_is_said_of_it(question: str, answer: str, marked: bool) -> None:
    title = "Rc<T>, the Reference Counted Smart Pointer - The Rust Programming Language"
    text = "The source files from which this book is generated are on GitHub. Its foreword is short."
    assert bool(missing(answer, question, [SentChunk(1, "a", text, label=title)])) == marked


def test_what_label_and_text_say_is_quoted_from_the_text() -> None:
    heading = "Allowing multiple owners of mutable data"
    text = f"{heading}\n\nA common way to use it is in combination with another pointer."
    sent = [SentChunk(1, "a", text, label=f"RefCell and Interior Mutability, section {heading}")]
    answer = "RefCell is used for mutability, allowing multiple owners of mutable data."
    (citation,) = attribute(answer, sent, "What is RefCell used for?").citations
    assert citation.quote == heading
    assert citation.support > 0.5
