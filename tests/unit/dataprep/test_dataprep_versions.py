"""What is stored is named after these versions, so a change of output without a new version would go unnoticed."""

import hashlib
from collections.abc import Callable

import docx.document

from steelyard_dataprep.chunking import CHUNKER_VERSION, chunk
from steelyard_dataprep.parsing import PARSER_VERSION, parse

CHANGED = "the output changed: raise the version in the package's __init__ and renew the digest here"
SENTENCES = "Über die Waage. 天秤は量ります。 الميزان يزن الحمل. ตาชั่งชั่งน้ำหนัก 👨‍👩‍👧 e\u0301. " * 3
MARKDOWN = f"# One\n\n{SENTENCES}\n\n## Two\n\n- a\n- b\n\n{SENTENCES * 4}\n"
PAGE = (
    f"<title>T</title><h1>H</h1><p>{SENTENCES}</p><ol><li>a<li>b</ol>10<sup>6</sup><table><tr><td>1<td>2</table>"
    "<nav>n</nav>"
)


def digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def test_parser_output(make_docx: Callable[..., bytes], make_pdf: Callable[..., bytes]) -> None:
    def build(document: docx.document.Document) -> None:
        document.add_heading("H", 1)
        document.add_paragraph(SENTENCES)
        document.add_table(1, 2).cell(0, 1).text = "cell"
        document.add_paragraph("item", style="List Bullet")

    documents = [
        parse("a.md", MARKDOWN.encode()),
        parse("a.txt", SENTENCES.encode("utf-16")),
        parse("a.html", PAGE.encode()),
        parse("a.docx", make_docx(build)),
        parse("a.pdf", make_pdf(["Chapter", "exam-", "ple"], ["日本"], outline={"Chapter": 0})),
        parse("a.csv", b"a;b\n1;2\n3;4\n"),
        parse("a.jsonl", b'{"a": 1.0, "b": [null]}\n'),
        parse("a.eml", b"Subject: S\r\nFrom: f@example.org\r\n\r\nbody\r\n"),
    ]
    assert (PARSER_VERSION, digest(documents)) == ("7", "f834dcb17bb799d9"), CHANGED


def test_chunker_output() -> None:
    chunks = chunk(parse("a.md", MARKDOWN.encode()), len, max_tokens=90, overlap_tokens=20)
    assert (CHUNKER_VERSION, digest(chunks)) == ("4", "eae4de03583f90ae"), CHANGED
