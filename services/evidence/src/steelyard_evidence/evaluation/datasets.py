"""The three evaluation data sets, read from where they lie; nothing of them is kept in the project."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from steelyard_dataprep.chunking import chunk
from steelyard_dataprep.chunking.counter import TokenCounter
from steelyard_dataprep.parsing.document import ParsedDocument, Section

from ..errors import DatasetError
from .collection import Collection, GoldSpan, Passage, Question

CHUNK_TOKENS = 200
"""The ingestion service's default chunk, in the embedding model's tokens."""


def load(folder: Path, count_tokens: TokenCounter) -> list[Collection]:
    """Return chunking_eval, HotpotQA and MuSiQue, cut into passages by the ingestion service's own chunker.

    Raises `DatasetError` naming the folder that is not there or not as it should be.
    """
    return [load_one(name, folder, count_tokens) for name in NAMES]


def load_one(name: str, folder: Path, count_tokens: TokenCounter, chunk_tokens: int = CHUNK_TOKENS) -> Collection:
    """Return one data set cut into passages; raises as `read_one` does."""
    found = read_one(name, folder)
    return found.with_passages(
        [passage for one, text in found.documents.items() for passage in cut(one, text, count_tokens, chunk_tokens)]
    )


def read_one(name: str, folder: Path) -> Collection:
    """Return one data set, not cut; raises as `load` does, and KeyError for a name that is none of `NAMES`."""
    if not folder.is_dir():
        raise DatasetError(f"{folder}: no evaluation data there; STEELYARD_EVAL_DATA names the folder")
    try:
        found = _READERS[name](folder / name)
        return Collection(name, found.documents, (), found.questions, found.by_unit)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise DatasetError(f"{folder / name}: {type(error).__name__}: {error}") from error


class _Read(NamedTuple):
    documents: dict[str, str]
    questions: tuple[Question, ...]
    by_unit: bool


def _chunking_eval(base: Path) -> _Read:
    """472 questions over five documents; a gold span weighs as many characters as it has."""
    documents = {path.stem: path.read_text(encoding="utf-8") for path in sorted((base / "corpora").glob("*.md"))}
    with (base / "questions_df.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    questions = []
    for number, row in enumerate(rows):
        spans = [
            GoldSpan(row["corpus_id"], int(ref["start_index"]), int(ref["end_index"]))
            for ref in json.loads(row["references"])
        ]
        questions.append(Question(number, row["question"], tuple(spans)))
    return _Read(documents, tuple(questions), False)


def _hotpotqa(base: Path) -> _Read:
    """100 questions over 994 paragraphs; each supporting sentence weighs the same."""
    documents: dict[str, str] = {}
    sentences: dict[str, list[tuple[int, int]]] = {}
    for title, parts in _json(base / "hotpotqa_train_corpus.json").items():
        text, spans = f"{title}. ", []
        for part in parts:
            spans.append((len(text), len(text) + len(part)))
            text += part
        documents[title], sentences[title] = text, spans
    questions = []
    for number, row in enumerate(_json(base / "hotpotqa_train.json")):
        facts = [(title, index) for title, index in row["supporting_facts"] if index < len(sentences[title])]
        gold = tuple(GoldSpan(title, *sentences[title][index]) for title, index in facts)
        questions.append(Question(number, row["question"], gold))
    return _Read(documents, tuple(questions), True)


def _musique(base: Path) -> _Read:
    """100 questions over 1,890 paragraphs; each supporting paragraph weighs the same."""
    keys: dict[tuple[str, str], str] = {}
    documents: dict[str, str] = {}
    for row in _json(base / "musique_train_corpus.json"):
        key = keys.setdefault((row["title"], row["text"]), f"{len(keys)} {row['title']}")
        documents[key] = f"{row['title']}. {row['text']}"
    questions = []
    for number, row in enumerate(_json(base / "musique_train.json")):
        supporting = [
            keys[one["title"], one["paragraph_text"]] for one in row["paragraphs"] if one["is_supporting"] is True
        ]
        gold = tuple(GoldSpan(key, 0, len(documents[key])) for key in supporting)
        questions.append(Question(number, row["question"], gold))
    return _Read(documents, tuple(questions), True)


def cut(document: str, text: str, count_tokens: TokenCounter, chunk_tokens: int) -> Iterator[Passage]:
    """Yield the chunks that ingestion would make of a plain text."""
    parsed = ParsedDocument(text, document, "text/plain", (Section(0, "", (), 0, 0, len(text)),))
    for span in chunk(parsed, count_tokens, max_tokens=chunk_tokens):
        yield Passage(text[span.char_start : span.char_end], document, span.char_start, span.char_end)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


_READERS: dict[str, Callable[[Path], _Read]] = {
    "chunking_eval": _chunking_eval,
    "hotpotqa": _hotpotqa,
    "musique": _musique,
}
NAMES = tuple(_READERS)
"""The data sets by the names of their folders."""
