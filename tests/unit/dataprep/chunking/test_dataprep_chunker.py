from collections.abc import Callable
from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_dataprep.chunking import ChunkingError, ChunkSpan, chunk
from steelyard_dataprep.parsing import ParsedDocument, parse
from steelyard_dataprep.parsing.structure import Heading, sections_from

Counter = Callable[[str], int]
JOINING = frozenset("\u200d\u0301\u0327\U0001f3fd")

FRAGMENTS = [
    "balance ",
    "Gegengewicht. ",
    "天秤は荷物を量ります。",
    "砝码称量",
    "ตาชั่งชั่งน้ำหนัก",
    "الميزان يزن ",
    "한국어 ",
    "\u1112\u1161\u11ab",
    "क्षत्रिय ",
    "👨‍👩‍👧‍👦",
    "🇩🇪🇯🇵",
    "👍🏽",
    "e\u0301\u0327",
    " \u0301",
    "\u0600 1",
    "\u3000",
    "\u2028",
    "\t",
    "\n",
    "\n\n",
    "   ",
    "x" * 130,
    "| a | b |\n",
    ".",
]
BODIES = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)
HEADINGS = st.lists(st.sampled_from(FRAGMENTS), max_size=4).map(lambda words: " ".join("".join(words).split()))
SECTIONS = st.lists(st.tuples(st.integers(1, 4), HEADINGS, BODIES), max_size=5)


def document_of(sections: list[tuple[int, str, str]], preamble: str = "") -> ParsedDocument:
    text = preamble + "\n"
    headings = []
    for level, title, body in sections:
        start = len(text)
        text += title + "\n"
        headings.append(Heading(level, title, start, len(text)))
        text += body + "\n"
    return ParsedDocument(text, "Title", "text/plain", sections_from(headings, len(text)))


def plain(text: str) -> ParsedDocument:
    return ParsedDocument(text, "Title", "text/plain", sections_from([], len(text)))


def texts(document: ParsedDocument, chunks: tuple[ChunkSpan, ...]) -> list[str]:
    return [document.text[span.char_start : span.char_end] for span in chunks]


def utf8_length(text: str) -> int:
    return len(text.encode())


def assert_sound(document: ParsedDocument, chunks: tuple[ChunkSpan, ...], count: Counter, max_tokens: int) -> None:
    """Every promise of `chunk` that holds for any text."""
    text = document.text
    assert [span.ordinal for span in chunks] == list(range(len(chunks)))
    for span in chunks:
        content = text[span.char_start : span.char_end]
        assert content.strip()
        assert span.tokens == count(content) <= max_tokens
    covered = bytearray(len(text))
    for span in chunks:
        covered[span.char_start : span.char_end] = b"\1" * (span.char_end - span.char_start)
    assert [char for char, seen in zip(text, covered, strict=True) if not seen and not char.isspace()] == []
    for earlier, later in pairwise(chunks):
        assert earlier.char_start < later.char_start
        assert earlier.char_end < later.char_end
        assert earlier.section <= later.section
    for span in chunks:
        section = document.sections[span.section]
        assert section.char_start < span.char_end <= section.char_end
        # Before its own section a chunk may only hold headings of sections without text.
        for above in document.sections[: span.section]:
            if text[max(above.char_start, span.char_start) : above.char_end].strip():
                assert not text[max(above.body_start, span.char_start) : above.char_end].strip()
                assert above.level < section.level


def assert_clusters_whole(document: ParsedDocument, chunks: tuple[ChunkSpan, ...]) -> None:
    boundaries = {0} | {cluster.end() for cluster in regex.finditer(r"\X", document.text)}
    for span in chunks:
        before = document.text[span.char_start - 1 : span.char_start]
        assert {span.char_start, span.char_end} <= boundaries
        # Independent of the library that finds clusters: nothing begins with a joiner, a mark or a modifier.
        # (At the beginning of a line there is nothing that they could join.)
        assert before in {"", "\n", "\t", "\u2028"} or document.text[span.char_start] not in JOINING


@settings(max_examples=60, deadline=None)
@given(preamble=BODIES, sections=SECTIONS, max_tokens=st.integers(48, 120), overlap=st.integers(0, 40))
def test_any_document_in_utf8_bytes(
    preamble: str, sections: list[tuple[int, str, str]], max_tokens: int, overlap: int
) -> None:
    document = document_of(sections, preamble)
    chunks = chunk(document, utf8_length, max_tokens=max_tokens, overlap_tokens=overlap)
    assert_sound(document, chunks, utf8_length, max_tokens)
    assert_clusters_whole(document, chunks)
    if overlap == 0:
        assert all(earlier.char_end <= later.char_start for earlier, later in pairwise(chunks))


@settings(max_examples=60, deadline=None)
@given(preamble=BODIES, sections=SECTIONS, max_tokens=st.integers(12, 40), overlap=st.integers(0, 11))
def test_any_document_in_tokens(
    count_tokens: Counter, preamble: str, sections: list[tuple[int, str, str]], max_tokens: int, overlap: int
) -> None:
    document = document_of(sections, preamble)
    chunks = chunk(document, count_tokens, max_tokens=max_tokens, overlap_tokens=overlap)
    assert_sound(document, chunks, count_tokens, max_tokens)
    assert_clusters_whole(document, chunks)
    assert all(span.char_end - span.char_start <= 8 * max_tokens for span in chunks)


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=400), max_tokens=st.integers(4, 30))
def test_any_text_at_all(text: str, max_tokens: int) -> None:
    document = plain(text)
    assert_sound(document, chunk(document, utf8_length, max_tokens=max_tokens), utf8_length, max_tokens)


def test_each_language_is_cut_at_words_and_sentences(count_tokens: Counter, sample: str) -> None:
    document = plain(sample * 6)
    chunks = chunk(document, count_tokens, max_tokens=25)
    assert_sound(document, chunks, count_tokens, 25)
    assert len(chunks) > 1


def test_arabic_and_thai_words_stay_whole() -> None:
    arabic = "الميزان يزن الحمل مقابل ثقل موازن " * 6
    for text in texts(plain(arabic), chunk(plain(arabic), len, max_tokens=20)):
        assert set(text.split()) <= set(arabic.split())
    thai = "ฉันรักการอ่านหนังสือและการเดินทาง"
    assert texts(plain(thai), chunk(plain(thai), len, max_tokens=12)) == ["ฉันรักการ", "อ่านหนังสือ", "และการเดิน", "ทาง"]


def test_a_heading_travels_with_its_text() -> None:
    document = document_of([(1, "Heading", "One sentence here. Another sentence there. A third one.")])
    chunks = chunk(document, len, max_tokens=40)
    assert texts(document, chunks)[0] == "Heading\nOne sentence here."
    assert [span.section_path for span in chunks] == [("Heading",)] * len(chunks)
    assert_sound(document, chunks, len, 40)


def test_headings_without_text_of_their_own_travel_with_the_next_inner_one() -> None:
    document = document_of([(1, "Top", ""), (2, "Inner", "Words."), (2, "Bare", ""), (1, "Last", "End.")])
    chunks = chunk(document, len, max_tokens=40)
    assert texts(document, chunks) == ["Top\n\nInner\nWords.", "Bare", "Last\nEnd."]
    assert [span.section_path for span in chunks] == [("Top", "Inner"), ("Top", "Bare"), ("Last",)]


def test_a_long_heading_is_cut_like_text() -> None:
    document = document_of([(1, "A heading that fills most of what a chunk can hold", "Words.")])
    chunks = chunk(document, len, max_tokens=30)
    assert_sound(document, chunks, len, 30)


def test_sections_are_never_mixed() -> None:
    document = parse("a.csv", b"text\nshort one\nshort two\nshort three")
    assert texts(document, chunk(document, len, max_tokens=500)) == [
        "text: short one",
        "text: short two",
        "text: short three",
    ]


def test_overlap_repeats_the_end_of_the_previous_chunk() -> None:
    document = plain("One is first. Two is second. Three is third. Four is fourth. Five is fifth.")
    assert texts(document, chunk(document, len, max_tokens=45, overlap_tokens=18)) == [
        "One is first. Two is second. Three is third.",
        "Three is third. Four is fourth.",
        "Four is fourth. Five is fifth.",
    ]


def test_a_chunk_names_the_pages_on_which_it_begins_and_ends(make_pdf: Callable[..., bytes]) -> None:
    document = parse("a.pdf", make_pdf(["First page words."], [], ["Third page words."]))

    def pages(of: ParsedDocument, max_tokens: int) -> list[tuple[int | None, int | None]]:
        return [(span.page, span.page_end) for span in chunk(of, len, max_tokens=max_tokens)]

    assert pages(document, 18) == [(1, 1), (3, 3)]
    assert pages(document, 50) == [(1, 3)]
    assert pages(plain("no pages"), 50) == [(None, None)]


def test_text_that_the_tokenizer_cannot_read_is_bounded_in_characters(count_tokens: Counter) -> None:
    document = plain("ข" * 5000)
    assert count_tokens(document.text) == 1
    chunks = chunk(document, count_tokens, max_tokens=50)
    assert max(span.char_end - span.char_start for span in chunks) <= 400
    assert_sound(document, chunks, count_tokens, 50)


def test_a_cluster_that_alone_exceeds_a_chunk_is_cut_and_nothing_else() -> None:
    document = plain("before " + "a" + "\u0301" * 90 + " after")
    chunks = chunk(document, len, max_tokens=20)
    assert_sound(document, chunks, len, 20)


def test_blank_documents_have_no_chunks() -> None:
    assert chunk(plain(""), len) == ()
    assert chunk(plain(" \n\u3000\t"), len) == ()


@pytest.mark.parametrize(
    "unit", ["lorem ipsum dolor ", "a", "日本語の文章です。", "สวัสดีครับ", "🇩🇪", "e\u0301", "a\n", " \u0301"]
)
def test_work_grows_linearly_in_a_single_line(unit: str) -> None:
    def work(length: int) -> tuple[int, ParsedDocument, tuple[ChunkSpan, ...]]:
        done = 0

        def count(text: str) -> int:
            nonlocal done
            done += len(text)
            return (len(text) + 3) // 4

        document = plain((unit * length)[:length])
        return (chunks := chunk(document, count, max_tokens=50)) and done, document, chunks

    once, _, _ = work(10_000)
    more, document, chunks = work(80_000)
    assert more <= 9 * once
    assert max(span.char_end - span.char_start for span in chunks) <= 400
    assert sum(span.char_end - span.char_start for span in chunks) >= len(document.text.replace(" ", "")) * 0.9


def test_ten_megabytes_in_one_line() -> None:
    document = plain("0123456789 ÄÖÜ 天秤 " * 500_000)
    chunks = chunk(document, lambda text: (len(text) + 3) // 4, max_tokens=200)
    assert len(document.text) == 9_000_000
    assert chunks[-1].char_end == len(document.text.rstrip())
    assert all(later.char_start - earlier.char_end <= 1 for earlier, later in pairwise(chunks))


@pytest.mark.parametrize(("max_tokens", "overlap"), [(0, 0), (10, 10), (10, -1), (-5, 0)])
def test_contradictory_limits_are_refused(max_tokens: int, overlap: int) -> None:
    with pytest.raises(ChunkingError):
        chunk(plain("x"), len, max_tokens=max_tokens, overlap_tokens=overlap)


def test_a_character_above_the_limit_is_refused() -> None:
    with pytest.raises(ChunkingError, match=r"U\+2696"):
        chunk(plain("⚖"), utf8_length, max_tokens=2)


ROWS = [(f"P-{number}", f"{number} Nm") for number in range(1, 30)]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.md", "# T\n\nBefore | it.\n\n| Part | Torque |\n|---|---|\n"
         + "".join(f"| {part} | {torque} |\n" for part, torque in ROWS) + "\nAfter the table. " * 20),
        ("a.html", "<h1>T</h1><p>Before | it.<table><tr><th>Part<th>Torque</tr>"
         + "".join(f"<tr><td>{part}<td>{torque}</tr>" for part, torque in ROWS) + "</table>"
         + "<p>After the table. " * 20),
    ],
)  # fmt: skip
@pytest.mark.parametrize("overlap", [0, 10])
def test_a_chunk_that_begins_in_a_tables_rows_knows_their_columns(name: str, source: str, overlap: int) -> None:
    document = parse(name, source.encode())
    chunks = chunk(document, len, max_tokens=60, overlap_tokens=overlap)
    texts = {piece.ordinal: document.text[piece.char_start : piece.char_end] for piece in chunks}
    going_on = [piece for piece in chunks if texts[piece.ordinal].lstrip("| ").startswith("P-")]
    assert len(going_on) >= 5
    assert {piece.columns for piece in going_on} == {"| Part | Torque |"}
    others = {piece.columns for piece in chunks if texts[piece.ordinal].startswith(("# T", "T\n", "After"))}
    assert others == {""}


def test_the_names_of_columns_that_are_too_long_are_cut_visibly() -> None:
    rows = "".join(f"| {number} | b |\n" for number in range(200))
    document = parse("a.md", f"| {'n' * 300} | b |\n|---|---|\n{rows}".encode())
    columns = chunk(document, len, max_tokens=400)[-1].columns
    assert (columns[:5], columns[-1], len(columns)) == ("| nnn", "…", 200)
