import pytest

from steelyard_chatqna.grounding.languages import LANGUAGES
from steelyard_chatqna.grounding.lexicon.concepts import COLOUR_OF, DIRECTION_OF, OPPOSITE_OF
from steelyard_chatqna.grounding.lexicon.language import Language
from steelyard_chatqna.grounding.lexicon.measures import MEASURE_OF
from steelyard_chatqna.grounding.lexicon.particles import is_polar
from steelyard_chatqna.grounding.lexicon.words import fold
from steelyard_chatqna.grounding.units import UNIT_OF


def test_every_direction_has_an_opposite_that_points_back() -> None:
    assert set(DIRECTION_OF.values()) == set(OPPOSITE_OF)
    assert all(OPPOSITE_OF[opposite] == direction for direction, opposite in OPPOSITE_OF.items())
    assert not set(COLOUR_OF) & set(DIRECTION_OF)


def test_a_measure_asks_for_dimensions_that_a_unit_has() -> None:
    known = {unit.dimension for unit in UNIT_OF.values()}
    assert {dimension for dimensions in MEASURE_OF.values() for dimension in dimensions} <= known


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda language: language.code or "unknown")
def test_the_lists_are_folded(language: Language) -> None:
    lists = (language.function_words, language.light_words, language.negations, language.prohibitions)
    for entries in (*lists, language.local_negations, language.contrasts, language.coordinators, language.finite):
        assert {fold(entry) for entry in entries} == entries


@pytest.mark.parametrize(
    ("question", "polar"),
    [
        ("Can the pump run dry?", True),
        ("Is there a parking lot?", True),
        ("What colour is the pump?", False),
        ("Can you say how heavy it is?", False),
        ("And the weight?", False),
        ("Tell me about the pump.", False),
        ("Enthält der Teig Eier?", True),
        ("Darf die Pumpe trocken laufen?", True),
        ("Wie schwer ist die Pumpe?", False),
        ("空運転をしてもいいですか?", True),
        ("何色ですか?", False),
        ("シールの交換間隔は?", False),
        ("泵可以干运转吗?", True),
        ("最大流量是多少?", False),
        ("هل المضخة سوداء؟", True),
        ("كم تزن المضخة؟", False),
        ("", False),
    ],
)
def test_polar_questions(question: str, polar: bool) -> None:
    assert is_polar(question) is polar
