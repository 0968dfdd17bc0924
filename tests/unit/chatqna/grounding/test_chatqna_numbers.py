from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_chatqna.grounding.numbers import NUMBER, plain, readings


@given(st.text(max_size=200))
def test_plain_keeps_every_offset(text: str) -> None:
    assert len(plain(text)) == len(text)
    assert plain(plain(text)) == plain(text)


def test_plain_writes_digits_and_signs_in_ascii() -> None:
    assert plain("８．５kg ٣٫٥ ٤٬٠٠٠ ٥٪ 10–20 −5") == "8.5kg 3.5 4,000 5% 10-20 -5"


@pytest.mark.parametrize(
    ("number", "decimal_comma", "values"),
    [
        ("35", None, ["35"]),
        ("3.5", None, ["3.5"]),
        ("3,5", None, ["3.5"]),
        ("1,000", False, ["1000"]),
        ("1,000", True, ["1"]),
        ("1.000", True, ["1000"]),
        ("1.000", False, ["1"]),
        ("1.000", None, ["1", "1000"]),
        ("0.125", True, ["0.125"]),
        ("1,234,567.8", None, ["1234567.8"]),
        ("1.234.567,8", None, ["1234567.8"]),
        ("4'000", None, ["4000"]),
        ("4\u202f000,5", None, ["4000.5"]),
        ("12,3456", None, ["12.3456"]),
    ],
)
def test_readings(number: str, decimal_comma: bool | None, values: list[str]) -> None:
    assert NUMBER.fullmatch(number)
    assert readings(number, decimal_comma) == {Decimal(value) for value in values}


@given(st.integers(0, 10**9), st.integers(0, 99))
def test_a_number_is_read_back_from_every_way_of_writing_it(whole: int, cents: int) -> None:
    value = Decimal(f"{whole}.{cents:02d}")
    english = f"{value:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert readings(english, False) == readings(german, True) == {value}
