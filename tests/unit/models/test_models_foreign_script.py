import pytest

from steelyard_models.foreign_script import (
    character_grams,
    coverage,
    foreign_grams,
    foreign_query_grams,
    has_foreign_letters,
)


@pytest.mark.parametrize("text", ["猫", "きです", "قط", "кот", "γάτα", "חתול", "고양이", "แมว", "बिल्ली"])
def test_letters_outside_latin_are_foreign(text: str) -> None:
    assert has_foreign_letters(f"the {text}")
    assert foreign_grams(f"the {text}") == foreign_grams(text) != frozenset()


@pytest.mark.parametrize(
    "text", ["", "a cat", "Straße café Łódź Việt", "42 + 1!", "snake_case", "👍🏽", "ＡＢＣ", "。、"]
)
def test_latin_digits_and_signs_are_not_foreign(text: str) -> None:
    assert not has_foreign_letters(text)
    assert foreign_grams(text) == frozenset()


def test_spaced_words_give_4_grams_with_marked_ends() -> None:
    assert foreign_grams("Кот!") == {"\x02кот", "кот\x03"}
    assert foreign_grams("я") == {"\x02я\x03"}
    assert character_grams("Café") == {"\x02caf", "cafe", "afe\x03"}


def test_unspaced_scripts_give_pairs_and_ideographs() -> None:
    assert foreign_grams("灯台はいつ") == {"灯台", "台は", "はい", "いつ", "灯", "台"}
    assert foreign_grams("パン") == {"パン"}


def test_query_leaves_particles_out_unless_it_has_nothing_else() -> None:
    assert foreign_query_grams("灯台はいつ") == {"灯台", "台は", "灯", "台"}
    assert foreign_query_grams("いつです") == {"いつ", "つで", "です"}
    assert foreign_query_grams("a cat") == frozenset()


def test_case_width_and_marks_are_folded_but_voicing_is_kept() -> None:
    assert foreign_grams("بُنيت") == foreign_grams("بنيت")
    assert foreign_grams("ЁЛКА") == foreign_grams("елка")
    assert foreign_grams("ﾊﾟﾝ") == foreign_grams("パン") != foreign_grams("ハン")


def test_coverage_is_the_share_of_the_query() -> None:
    assert coverage(frozenset("ab"), frozenset("bcd")) == 0.5
    assert coverage(frozenset(), frozenset("bcd")) == 0
    assert coverage(frozenset("ab"), frozenset()) == 0
