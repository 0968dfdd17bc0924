"""The questions over the demo corpus: shape, coverage, and evidence that stands word for word in the documents."""

import json
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import mammoth
import pypdfium2
import pytest
import trafilatura

from examples.build_corpus import CORPUS, EXAMPLES, SOURCES

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["questions"],
    "properties": {"questions": {"type": "array", "minItems": 20, "items": {"$ref": "#/$defs/question"}}},
    "$defs": {
        "question": {
            "type": "object",
            "additionalProperties": False,
            "required": ["id", "language", "question", "answerable", "answer", "tags", "evidence"],
            "properties": {
                "id": {"type": "string", "pattern": "^(en|de|ja|ar)-[a-z0-9-]+$"},
                "language": {"enum": ["en", "de", "ja", "ar"]},
                "question": {"type": "string", "minLength": 5},
                "answerable": {"type": "boolean"},
                "answer": {"type": ["string", "null"], "minLength": 1},
                "tags": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
                "evidence": {"type": "array", "items": {"$ref": "#/$defs/evidence"}},
                "demo": {"const": True},
            },
            "if": {"properties": {"answerable": {"const": True}}},
            "then": {"properties": {"answer": {"type": "string"}, "evidence": {"minItems": 1}}},
            "else": {"properties": {"answer": {"type": "null"}, "evidence": {"maxItems": 0}}},
        },
        "evidence": {
            "type": "object",
            "additionalProperties": False,
            "required": ["fact", "document", "quote"],
            "properties": {
                "fact": {"type": "integer", "minimum": 1},
                "document": {"type": "string"},
                "quote": {"type": "string", "minLength": 5},
            },
        },
    },
}

QUESTIONS: list[dict[str, Any]] = json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8"))["questions"]
EVIDENCE = [
    pytest.param(item["document"], item["quote"], id=f"{question['id']}-{number}")
    for question in QUESTIONS
    for number, item in enumerate(question["evidence"], start=1)
]


class _VisibleText(HTMLParser):
    """Collect the text of an HTML page without scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in {"script", "style"}

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in {"script", "style"}

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def normalised(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@cache
def source_text(document: str) -> str:
    """The text a document was written in: its own file, or the Markdown source of a built PDF or DOCX."""
    path = CORPUS / document
    if path.suffix in {".pdf", ".docx"}:
        return normalised((SOURCES / f"{document}.md").read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        parser = _VisibleText()
        parser.feed(text)
        text = " ".join(parser.parts)
    return normalised(text)


@cache
def extracted_text(path: Path) -> str:
    """The text that the product's parsing libraries get out of a document."""
    match path.suffix:
        case ".pdf":
            with pypdfium2.PdfDocument(path) as pdf:
                pages = [page.get_textpage().get_text_range() for page in pdf]
            return normalised(" ".join(pages))
        case ".docx":
            with path.open("rb") as file:
                return normalised(mammoth.extract_raw_text(file).value)
        case ".html":
            text = trafilatura.extract(path.read_text(encoding="utf-8"), include_tables=True)
            assert text is not None
            return normalised(text)
        case _:
            return normalised(path.read_text(encoding="utf-8"))


def test_questions_follow_their_schema() -> None:
    jsonschema.validate({"questions": QUESTIONS}, SCHEMA)


def test_ids_are_unique_and_name_their_language() -> None:
    ids = [question["id"] for question in QUESTIONS]
    assert len(set(ids)) == len(ids)
    assert all(question["id"].startswith(question["language"] + "-") for question in QUESTIONS)


def test_every_language_has_answerable_and_unanswerable_questions() -> None:
    counts = Counter((question["language"], question["answerable"]) for question in QUESTIONS)
    assert counts == {
        ("en", True): 9,
        ("en", False): 3,
        ("de", True): 3,
        ("de", False): 1,
        ("ja", True): 3,
        ("ja", False): 1,
        ("ar", True): 3,
        ("ar", False): 1,
    }


def test_kinds_of_questions_are_all_present() -> None:
    tags = Counter(tag for question in QUESTIONS for tag in question["tags"])
    assert {"number", "identifier", "negation", "repeated", "two-chunk", "table", "long-section"} <= set(tags)
    assert tags["on-topic"] == 4
    assert tags["off-topic"] == 2


@pytest.mark.parametrize(("document", "quote"), EVIDENCE)
def test_quote_stands_exactly_once_in_the_source(document: str, quote: str) -> None:
    assert source_text(document).count(quote) == 1


@pytest.mark.parametrize(("document", "quote"), EVIDENCE)
def test_quote_survives_text_extraction(document: str, quote: str) -> None:
    assert extracted_text(CORPUS / document).count(quote) == 1


def test_the_demo_question_has_one_fact_in_several_documents() -> None:
    (demo,) = [question for question in QUESTIONS if question.get("demo")]
    assert demo["language"] == "en"
    assert {item["fact"] for item in demo["evidence"]} == {1}
    assert len({item["document"] for item in demo["evidence"]}) >= 4


def test_facts_are_numbered_without_gaps() -> None:
    for question in QUESTIONS:
        facts = [fact for fact, _ in groupby(item["fact"] for item in question["evidence"])]
        assert facts == list(range(1, len(facts) + 1)), question["id"]


def test_two_chunk_questions_need_two_facts() -> None:
    for question in QUESTIONS:
        facts = {item["fact"] for item in question["evidence"]}
        assert ("two-chunk" in question["tags"]) == (len(facts) > 1), question["id"]


@pytest.mark.parametrize("word", ["colour", "color", "RAL", "AX-200", "AX-201"])
def test_unanswerable_subjects_are_absent_from_the_corpus(word: str) -> None:
    for path in CORPUS.iterdir():
        assert not re.search(rf"\b{word}\b", extracted_text(path)), path.name
