from hypothesis import given
from hypothesis import strategies as st

from steelyard_dataprep.chunking import chunk
from steelyard_dataprep.chunking.wrapping import without_wrapping
from steelyard_dataprep.parsing import parse

WRAPPED = """\
The balance weighs a load against a counterweight that hangs on a long
arm. Every candidate is accounted for, and nothing is ever lost on the
way from the store to the prompt.
Prices
| Year | Amount | with a note that is as long as the others are |
2026 12 t net weight of the load that was put upon the balance today
The next paragraph begins here and is wrapped like the first one above
it."""


def test_only_line_ends_inside_paragraphs_go() -> None:
    lines = without_wrapping(WRAPPED).split("\n")
    assert [line[:12] for line in lines] == ["The balance ", "Prices", "| Year | Amo", "2026 12 t ne"]
    assert lines[0].endswith(
        "long arm. Every candidate is accounted for, and nothing is ever lost on the way from the store to the prompt."
    )


@given(st.text(st.sampled_from("ab. |\n図1"), max_size=300))
def test_offsets_stay_the_same(text: str) -> None:
    shape = without_wrapping(text)
    assert len(shape) == len(text)
    assert all(new == old or (old, new) == ("\n", " ") for old, new in zip(text, shape, strict=True))


def test_chunks_of_wrapped_text_end_at_sentences_and_keep_its_line_ends() -> None:
    document = parse("a.txt", WRAPPED.encode())
    first, *_ = chunk(document, lambda text: len(text.split()), max_tokens=20)
    assert document.text[first.char_start : first.char_end] == WRAPPED[: WRAPPED.index("arm.") + 4]
