from collections.abc import Callable

import pytest

from steelyard_dataprep.chunking import abstract

Counter = Callable[[str], int]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\n| 1 | 2 | 3 |\nNo. The balance weighs a load. It is accurate.", "The balance weighs a load."),
        (
            "天秤は荷物を錘と釣り合わせて量ります。すべての候補が必ず記録されます。",
            "天秤は荷物を錘と釣り合わせて量ります。",
        ),
        ("الميزان يزن الحمل مقابل ثقل؟ كل مرشح له سجل مفصل.", "الميزان يزن الحمل مقابل ثقل؟"),
        ("Line one of a text\ncontinues here. Second one.", "Line one of a text continues here."),
    ],
)
def test_takes_whole_informative_sentences(text: str, expected: str) -> None:
    assert abstract(text, len, max_tokens=34) == expected


def test_joins_sentences_up_to_the_limit(count_tokens: Counter, sample: str) -> None:
    result = abstract(sample * 20, count_tokens, max_tokens=64)
    assert 0 < count_tokens(result) <= 64
    assert "".join(result.split()) in "".join((sample * 20).split())


def test_a_sentence_that_is_too_long_gives_its_beginning() -> None:
    assert abstract("A sentence of several words that goes on and on", len, max_tokens=20) == "A sentence of"


def test_without_informative_sentences_the_beginning_stands_in() -> None:
    assert abstract("1 2 3\n4 5 6", len, max_tokens=5) == "1 2 3"
    assert abstract(" \n", len) == ""


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    read = 0

    def count(text: str) -> int:
        nonlocal read
        read += len(text)
        return 1

    assert abstract("word " * 1_000_000, count)
    assert read < 1_000_000
