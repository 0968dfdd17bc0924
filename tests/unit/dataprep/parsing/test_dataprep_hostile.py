"""Files that are made to harm: each is refused by name or read harmlessly, within the limits of its own process.

The limits are lower than the service's, so that the tests are short; the mechanism is the same.
"""

import asyncio
import io
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import docx
import pytest

from steelyard_dataprep.parsing import ParseError, ParseLimits
from steelyard_dataprep.preparation.isolation import IsolatedParser
from steelyard_dataprep.preparation.prepared import ChunkSize, PreparedDocument

MIB = 2**20
LIMITS = ParseLimits(
    max_unpacked_bytes=32 * MIB, max_text_chars=4 * MIB, memory_bytes=384 * MIB, cpu_seconds=2, wall_seconds=60.0
)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
LAUGHS = (
    '<!DOCTYPE l [<!ENTITY a "lol">'
    + "".join(f'<!ENTITY {chr(98 + level)} "{f"&{chr(97 + level)};" * 10}">' for level in range(10))
    + "]>"
)


def word(change: Callable[[bytes], bytes] = bytes, extra: Callable[[zipfile.ZipFile], object] | None = None) -> bytes:
    """A Word file whose main part is changed, and whose container gets more members."""
    plain, changed = io.BytesIO(), io.BytesIO()
    document = docx.Document()
    document.add_paragraph("words")
    document.save(plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as target:
        for member in source.namelist():
            data = source.read(member)
            target.writestr(member, change(data) if member == "word/document.xml" else data)
        if extra is not None:
            extra(target)
    return changed.getvalue()


def main_part(prologue: str, text: str) -> Callable[[bytes], bytes]:
    body = f'<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>'
    return lambda _: (prologue + body).encode()


def in_body(inserted: bytes) -> Callable[[bytes], bytes]:
    return lambda xml: xml.replace(b"<w:body>", b"<w:body>" + inserted)


def pdf(*objects: bytes) -> bytes:
    """A PDF of these objects, the first of which is its catalogue."""
    made, offsets = b"%PDF-1.5\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return made + b"xref\n0 %d\n0000000000 65535 f \n%btrailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        size, table, size, len(made),
    )  # fmt: skip


def pdf_with(content: bytes, filters: bytes = b"/FlateDecode") -> bytes:
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>"
    stream = b"<</Length %d/Filter%b>>stream\n%b\nendstream" % (len(content), filters, content)
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    return pdf(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page, stream, font)


def deflated(data: bytes) -> bytes:
    return zlib.compress(data, 9)


def object_stream_bomb() -> bytes:
    """An object stream that unpacks to a thousand times its size and says that it holds a million objects."""
    packed = deflated(b" " * (200 * MIB))
    stream = b"<</Type/ObjStm/N 1000000/First 10/Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (
        len(packed), packed,
    )  # fmt: skip
    return pdf(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[]/Count 0>>", stream)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a member that unpacks to 400 times its size.docx": lambda: word(
        extra=lambda target: target.writestr("word/media/a.bin", bytes(40 * MIB))
    ),
    "a text of 40 MiB in 40 KiB.docx": lambda: word(lambda xml: xml.replace(b"words", b"w" * (31 * MIB))),
    "two million runs.docx": lambda: word(in_body(b"<w:p><w:r><w:t>x</w:t></w:r></w:p>" * 700_000)),
    "ten thousand members.docx": lambda: word(
        extra=lambda target: [target.writestr(f"x/{number}", b"") for number in range(10_001)]
    ),
    "elements in elements.docx": lambda: word(in_body(b"<w:sdt>" * 100_000)),
    "a billion laughs.docx": lambda: word(main_part(LAUGHS, "&k;")),
    "an external entity.docx": lambda: word(
        main_part('<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>', "&x;")
    ),
    "a parameter entity.docx": lambda: word(
        main_part('<!DOCTYPE d [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]>', "words")
    ),
    "members outside of the container.docx": lambda: word(
        extra=lambda target: [target.writestr(name, b"x") for name in ("../../etc/x", "/etc/x", "C:\\x", "a\\..\\x")]
    ),
    "a billion laughs.html": lambda: (LAUGHS + "<p>&k;</p>").encode(),
    "an external entity.xhtml": lambda: (
        b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><html><p>words &x;</p></html>'
    ),
    "elements in elements.html": lambda: b"<div>" * 500_000 + b"words",
    "tables in tables.html": lambda: b"<table><tr><td>" * 20_000 + b"words",
    "a hundred thousand attributes.html": lambda: b"<p %b>words" % b" ".join(b"a%d=1" % n for n in range(100_000)),
    "a page that unpacks to a thousand times its size.pdf": lambda: pdf_with(
        deflated(b"BT /F1 12 Tf (x) Tj ET\n" * 2_000_000)
    ),
    "packed twice.pdf": lambda: pdf_with(deflated(deflated(bytes(200 * MIB))), b"[/FlateDecode/FlateDecode]"),
    "an object stream.pdf": object_stream_bomb,
    "pages that are their own parent.pdf": lambda: pdf(
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 99999999>>"
    ),
    "more pages than there are.pdf": lambda: pdf(
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[]/Count 2147483647>>"
    ),
    "lists in lists.jsonl": lambda: b"[" * 200_000 + b"]" * 200_000,
    "a row for every byte.csv": lambda: b"a\n" + b"1\n" * 300_000,
    "a quote that never ends.csv": lambda: b'a\n"' + b"x\n" * 3_000_000,
    "quotes in quotes.md": lambda: b">" * 200_000 + b"words",
    "links in links.md": lambda: b"# " + b"[a](<b" * 50_000,
    "headings without end.md": lambda: b"# *h* [x](y) `c`\n\n" * 300_000,
    "nothing but NUL.txt": lambda: bytes(3 * MIB),
    "parts in parts.eml": lambda: b"Subject: s\r\n" + b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (level, level) for level in range(3000)
    ),
    "a header of a megabyte.eml": lambda: b"Subject: s\r\nTo: " + b"a <b@c>, " * 100_000 + b"\r\n\r\nwords",
}  # fmt: skip
# What is harmless is read. Everything else has to be refused.
READ = {"members outside of the container.docx", "a billion laughs.html", "an external entity.xhtml",
        "a hundred thousand attributes.html", "quotes in quotes.md", "links in links.md", "a quote that never ends.csv",
        "a header of a megabyte.eml", "parts in parts.eml"}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_by_name_or_read_harmlessly(name: str, tokenizer_file: Path) -> None:
    data = HOSTILE[name]()
    assert len(data) < LIMITS.max_input_bytes

    async def prepared() -> PreparedDocument | ParseError:
        async with IsolatedParser(tokenizer_file, ChunkSize(200, 0), LIMITS) as parser:
            try:
                return await parser.prepare(name, data)
            except ParseError as error:
                return error

    outcome = asyncio.run(prepared())
    if isinstance(outcome, ParseError):
        assert outcome.code != "parse_error"
        assert name in str(outcome)
        return
    assert name in READ, outcome.text[:200]
    # Neither expanded nor fetched.
    assert len(outcome.text) <= LIMITS.max_text_chars
    assert "root:" not in outcome.text
    assert "lollol" not in outcome.text
