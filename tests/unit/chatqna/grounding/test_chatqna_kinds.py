"""Kinds of facts that are written in many ways: days, times of day, durations in two units, models by number."""

import pytest

from steelyard_chatqna.grounding import SentChunk, attribute
from steelyard_chatqna.grounding.lexicon.english import ENGLISH
from steelyard_chatqna.grounding.lexicon.german import GERMAN
from steelyard_chatqna.grounding.lexicon.language import Language
from steelyard_chatqna.grounding.reading import read_facts


def read(text: str, language: Language = ENGLISH) -> list[tuple[str, str]]:
    return [(fact.kind.value, fact.key) for fact in read_facts(text, 0, len(text), language).facts]


def supported(evidence: str, answer: str, question: str = "") -> bool:
    return not attribute(answer, [SentChunk(1, "c1", evidence)], question).unsupported


@pytest.mark.parametrize(
    ("text", "language", "days"),
    [
        ("It opens on Mondays.", ENGLISH, ["monday"]),
        ("Es öffnet montags und freitags.", GERMAN, ["monday", "friday"]),
        ("Friday to Monday", ENGLISH, ["friday", "saturday", "sunday", "monday"]),
        ("Dienstag bis Donnerstag", GERMAN, ["tuesday", "wednesday", "thursday"]),
        ("Monday, Thursday", ENGLISH, ["monday", "thursday"]),
    ],
)
def test_weekdays_are_read_alike_and_their_ranges_are_filled(text: str, language: Language, days: list[str]) -> None:
    assert [key for kind, key in read(text, language) if kind == "weekday"] == days


@pytest.mark.parametrize(
    ("text", "key"),
    [("7:15", "07:15"), ("07:15", "07:15"), ("7:15 pm", "19:15"), ("12:05 a.m.", "00:05"), ("12:30 PM", "12:30")],
)
def test_times_of_day_compare_whatever_way_they_are_written(text: str, key: str) -> None:
    assert ("identifier", key) in read(f"It leaves at {text}")


@pytest.mark.parametrize(
    ("answer", "holds"),
    [
        ("The crossing takes 1 hour and 35 minutes.", True),
        ("The crossing takes one hour, 35 minutes.", False),  # `one` is an article as well
        ("The crossing takes 1 h 35 min.", True),
        ("The crossing takes 1 hour and 45 minutes.", False),
        ("The crossing takes 35 minutes.", False),
        ("The crossing takes 95 minutes.", True),
    ],
)
def test_a_duration_in_two_units_is_one(answer: str, holds: bool) -> None:
    assert supported("The crossing takes 95 minutes.", answer) == holds


@pytest.mark.parametrize(
    ("evidence", "answer", "holds"),
    [
        ("Firing takes 7.5 hours.", "Firing takes seven and a half hours.", True),
        ("Firing takes 7.5 hours.", "Firing takes 7 and a half hours.", True),
        ("Firing takes 7.5 hours.", "Firing takes eight and a half hours.", False),
        ("Eine Führung dauert eineinhalb Stunden.", "Eine Führung dauert 90 Minuten.", True),
        ("Der Brand dauert siebeneinhalb Stunden.", "Der Brand dauert 7,5 Stunden.", True),
    ],
)
def test_a_half_in_words_counts(evidence: str, answer: str, holds: bool) -> None:
    assert supported(evidence, answer) == holds


def test_a_name_with_a_number_is_a_model_of_its_own() -> None:
    assert read("The Kestrel 3 flies") == [("name", "kestrel"), ("identifier", "kestrel3"), ("word", "fli")]
    kilns = (
        "The Harrow 40 holds 40 litres. The Harrow 60 holds 60 litres. Unlike the Harrow 60, the Harrow 40 is round."
    )
    assert supported(kilns, "The Harrow 60 holds 60 litres.")
    assert not supported(kilns, "The Harrow 60 holds 40 litres.")
    assert not supported(kilns, "The Harrow 80 holds 40 litres.")
    assert supported(kilns, "The Harrow 40 is round.")


@pytest.mark.parametrize(
    ("answer", "holds"),
    [
        ("Elements are not covered by the warranty.", True),
        ("The elements are excluded.", True),
        ("The warranty includes the elements.", False),
        ("The elements are covered by the warranty.", False),
    ],
)
def test_what_is_excluded_is_denied(answer: str, holds: bool) -> None:
    assert supported("The warranty of both kilns is three years; elements are excluded.", answer) == holds


@pytest.mark.parametrize(
    ("answer", "holds"),
    [
        ("The AX-104-C is certified for zone 1.", True),
        ("The AX-104-B is certified for zone 1.", False),
        ("The AX-104-C is certified for zone 2.", False),
        ("The AX-104-C is certified for class 1.", False),
    ],
)
def test_a_number_that_names_something_is_no_count_of_something_else(answer: str, holds: bool) -> None:
    evidence = "Only the AX-104-C is certified for zone 1. Table 1 lists the rings of the AX-104-B; see page 2."
    assert supported(evidence, answer, "Which one is certified?") == holds


PUMPS = "Delta 35 weighs 19 kg. Delta 50 weighs 27 kg."
LISTED = "- Delta 35: 19 kg\n- Delta 50: 27 kg"
TABLE = "| Model | Weight (kg) | Housing |\n|---|---|---|\n| Delta 35 | 19 | steel |\n| Delta 50 | 27 | bronze |"
TOLD = "The Delta 35 weighs 19 kg. The Delta 50 weighs 27 kg."


@pytest.mark.parametrize("evidence", [PUMPS, LISTED, TABLE, TOLD])
def test_a_model_that_begins_a_sentence_or_an_entry_is_one(evidence: str) -> None:
    assert supported(evidence, "The Delta 35 weighs 19 kg.")
    assert supported(evidence, "Delta 35 weighs 19 kg.")
    assert not supported(evidence, "The Delta 35 weighs 27 kg.")
    assert not supported(evidence, "The Delta 40 weighs 19 kg.")


def test_what_stands_in_the_row_of_another_model_is_not_said_of_this_one() -> None:
    assert supported(TABLE, "The Delta 50 has a bronze housing.")
    assert not supported(TABLE, "The Delta 35 has a bronze housing.")


def test_a_word_and_a_count_at_the_beginning_are_no_model() -> None:
    tent = "The Fell tent sleeps 4 people. It has 2 doors."
    assert supported(tent, "Sleeps 4 people.")
    assert supported("Sleeps 4 people.", "The tent sleeps 4 people.")


def test_a_label_counts_whatever_the_language_of_a_short_text() -> None:
    decks = "Deck 1 costs 3 EUR, deck 2 costs 5 EUR"
    assert supported(decks, "Deck 2 costs 5 EUR.", "What does deck 2 cost?")
    assert not supported(decks, "Deck 2 costs 3 EUR.", "What does deck 2 cost?")
