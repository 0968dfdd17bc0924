import pytest

from steelyard_chatqna.grounding.dates import Date, date_at


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-15", [Date(2024, 3, 15)]),
        ("15 March 2024", [Date(2024, 3, 15)]),
        ("15th of March, 2024", [Date(2024, 3, 15)]),
        ("March 15, 2024", [Date(2024, 3, 15)]),
        ("May 14th", [Date(None, 5, 14)]),
        ("March 2024", [Date(2024, 3, None)]),
        ("15. März 2024", [Date(2024, 3, 15)]),
        ("15.03.2024", [Date(2024, 3, 15)]),
        ("2024年3月15日", [Date(2024, 3, 15)]),
        ("3月15日", [Date(None, 3, 15)]),
        ("15 مارس 2024", [Date(2024, 3, 15)]),
        ("03/04/2024", [Date(2024, 4, 3), Date(2024, 3, 4)]),
        ("13/04/2024", [Date(2024, 4, 13)]),
    ],
)
def test_dates(text: str, expected: list[Date]) -> None:
    assert date_at(text, 0, len(text)) == (tuple(expected), len(text))


@pytest.mark.parametrize("text", ["15 pumps", "may 5", "2024-13-15", "6か月", "March", "May 5% of"])
def test_no_dates(text: str) -> None:
    assert date_at(text, 0, len(text)) is None


def test_a_part_of_a_date_is_within_it() -> None:
    whole = Date(2024, 3, 15)
    assert Date(2024, 3, None).within(whole)
    assert Date(None, 3, 15).within(whole)
    assert not Date(None, 3, 16).within(whole)
    assert not whole.within(Date(None, 3, 15))
