import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_chatqna.grounding.facts import Facts, Kind
from steelyard_chatqna.grounding.languages import LANGUAGES, detect
from steelyard_chatqna.grounding.numbers import plain
from steelyard_chatqna.grounding.reading import read_facts
from steelyard_chatqna.grounding.stems import stem


def read(text: str) -> Facts:
    return read_facts(plain(text), 0, len(text), detect(text))


def found(text: str, *kinds: Kind) -> list[str]:
    return [text[fact.start : fact.end] for fact in read(text).facts if fact.kind in kinds]


def denied(text: str) -> list[str]:
    return [text[fact.start : fact.end] for fact in read(text).facts if fact.negated]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The pump weighs 8.5 kg.", "en"),
        ("Die Pumpe wiegt 8,5 kg.", "de"),
        ("質量は8.5kgです。", "ja"),
        ("重量为8.5公斤。", "zh"),
        ("تزن المضخة ٨٫٥ كغ.", "ar"),
        ("AX-104-B: 8.5 kg", ""),
    ],
)
def test_language(text: str, code: str) -> None:
    assert detect(text).code == code


@given(st.text(max_size=150), st.sampled_from(sorted(LANGUAGES)))
def test_facts_are_in_text_order_and_inside_the_sentence(text: str, code: str) -> None:
    facts = read_facts(plain(text), 0, len(text), LANGUAGES[code])
    starts = [fact.start for fact in facts.facts]
    assert starts == sorted(starts)
    assert all(0 <= fact.start < fact.end <= len(text) for fact in facts.facts)
    assert all(0 <= start < end <= len(text) for start, end in facts.cues)


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("The AX-104-B and the ZQ-77.", ["AX-104-B", "ZQ-77"]),
        ("Version v2.4.1 fixes CVE-2024-1234 in `timeout_ms`.", ["v2.4.1", "CVE-2024-1234", "timeout_ms"]),
        ("Die AX-104-B-Pumpe ist für IP67.", ["AX-104-B", "IP67"]),
        ("AX-104-Bは清水用です。", ["AX-104-B"]),
        ("It opens at 14:30.", ["14:30"]),
        ("Die Aufträge 77-1203, 0815-33, 4500-12 und 978-3-16.", ["77-1203", "0815-33", "4500-12", "978-3-16"]),
        ("注文番号77-1203です。", ["77-1203"]),
        ("It has 10-20 bolts, 5-1000 users, 2024-25 figures, 08-17 h and 200-35 bar.", []),
        ("It has 35Nm, 10MB, 5 V, the 2nd one, a 24-hour run and 10-20 bar.", []),
    ],
)
def test_identifiers(text: str, identifiers: list[str]) -> None:
    assert found(text, Kind.IDENTIFIER) == identifiers


def test_identifiers_compare_without_separators() -> None:
    assert read("The AX 1, AX-104-B.").facts[-1].key == read("The ax104b.").facts[-1].key == "ax104b"
    assert read("In v2.4.1.").facts[0].key == read("In 2.4.1.").facts[0].key


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It takes 10 to 20 bar, 1,000.5 mm and three seals.", ["10", "20 bar", "1,000.5 mm", "three"]),
        ("1. Open 2 valves.", ["2"]),
        ("# 13. Fewer than 100 settings", ["100"]),
        ("- 7) Open 2 valves.", ["2"]),
        ("Grease it every six months.", ["six months"]),
        ("Es sind 4.000 Betriebsstunden und zwölf Monate.", ["4.000 Betriebsstunden", "zwölf Monate"]),
        ("三台と35リットル。", ["三", "35リットル"]),
        ("See [1] and [2, 3].", []),
        ("[1]", []),
    ],
)
def test_numbers(text: str, numbers: list[str]) -> None:
    assert found(text, Kind.NUMBER) == numbers


def test_the_first_number_of_a_range_has_its_unit() -> None:
    first, second = (fact.quantity for fact in read("It takes 10 to 20 bar.").facts if fact.quantity)
    assert first is not None
    assert second is not None
    assert first.unit == second.unit is not None


@pytest.mark.parametrize("text", ["12. Mai 2024: Lieferung", "## 12. Mai 2024", "- 12. Mai 2024: Lieferung"])
def test_a_sentence_that_begins_with_a_date_has_it(text: str) -> None:
    assert found(text, Kind.DATE) == ["12. Mai 2024"]


def test_an_entry_that_begins_with_a_verb_has_no_date() -> None:
    assert found("1. May be cleaned with water.", Kind.DATE) == []


def test_superscript_digits_are_no_numbers() -> None:
    assert found("The ² and x³ of it.", Kind.NUMBER) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Here Marie Curie met Henri in Paris.", ["Marie", "Curie", "Henri", "Paris"]),
        ("Marie Curie was here.", ["Marie", "Curie"]),
        ("Grease the bearings.", []),
        ("Die Pumpe steht in Kaub.", []),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert found(text, Kind.NAME) == names


def test_colours_and_directions_are_known_by_meaning() -> None:
    keys = {
        fact.key
        for text in ("It is black.", "Sie ist schwarz.", "黒色です。", "是黑色的。", "هو الأسود في")
        for fact in read(text).facts
    }
    assert keys == {"black"}
    assert [fact.key for fact in read("It is the maximum above.").facts] == ["maximum", "above"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The pump must not be run dry: the seal is destroyed.", ["run", "dry"]),
        ("The tower collapsed and was not rebuilt.", ["rebuilt"]),
        ("Never, under water, lift it.", ["under", "water"]),
        ("The filter can be cleaned without tools.", ["tools"]),
        ("The filter cannot be cleaned without tools.", ["cleaned"]),
        ("Photography is permitted except in the chapel.", ["chapel"]),
        ("Gloves are forbidden near rotating parts.", ["Gloves", "near", "rotating", "parts"]),
        ("Calculators are permitted, telephones are not.", ["telephones"]),
        ("It is not only cheap but good.", []),
        ("No, the pump runs.", []),
        ("Die Pumpe darf nicht trocken laufen.", ["trocken", "laufen"]),
        ("Öffnen Sie die Tür nicht, wenn sie warm ist.", ["Öffnen", "Tür"]),
        ("Der Filter ist ohne Werkzeug zu reinigen.", ["Werkzeug", "reinigen"]),
        ("空運転をしてはいけません。", ["空運転"]),
        ("定期的に交換しなければなりません。", []),
        ("泵不得干运转。", ["干运转"]),
        ("轴为不锈钢。", []),
        ("لا يجوز تشغيل المضخة.", ["تشغيل", "المضخة"]),
    ],
)
def test_what_a_negation_reaches(text: str, expected: list[str]) -> None:
    assert denied(text) == expected


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "tightened", "tighten"),
        ("en", "lubrication", "lubricate"),
        ("en", "weighs", "weight"),
        ("en", "batteries", "battery"),
        ("en", "running", "runs"),
        ("de", "angeschraubt", "anzuschrauben"),
        ("de", "pumpen", "pumpe"),
        ("de", "gehäuse", "gehäuses"),
        ("ar", "المضخة", "مضخات"),
        ("ar", "السد", "سد"),
    ],
)
def test_inflections_have_one_stem(language: str, one: str, other: str) -> None:
    assert stem(one, language) == stem(other, language)


@pytest.mark.parametrize(("one", "other"), [("painted", "paint"), ("inlet", "outlet"), ("maximum", "minimum")])
def test_stems_keep_words_apart(one: str, other: str) -> None:
    assert (stem(one, "en") == stem(other, "en")) == (one == "painted")
