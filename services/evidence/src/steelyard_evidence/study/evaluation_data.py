"""The three evaluation data sets, read from where they lie; nothing of them is kept in the project."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from steelyard_dataprep.chunking import chunk
from steelyard_dataprep.parsing.document import ParsedDocument, Section

from ..errors import DatasetError
from .collection import Collection, GoldSpan, Passage, Question

CHUNK_TOKENS = 200
"""The ingestion service's default chunk, in the embedding model's tokens."""

TokenCounter = Callable[[str], int]


def load(folder: Path, count_tokens: TokenCounter) -> list[Collection]:
    """Return chunking_eval, HotpotQA and MuSiQue, cut into passages by the ingestion service's own chunker.

    Raises `DatasetError` naming the file that is not there or not as it should be.
    """
    if not folder.is_dir():
        raise DatasetError(f"{folder}: no evaluation data there; STEELYARD_EVAL_DATA names the folder")
    readers: tuple[Callable[[Path, TokenCounter], Collection], ...] = (_chunking_eval, _hotpotqa, _musique)
    collections = []
    for reader in readers:
        try:
            collections.append(reader(folder, count_tokens))
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise DatasetError(f"{folder}: {type(error).__name__}: {error}") from error
    return collections


def _chunking_eval(folder: Path, count_tokens: TokenCounter) -> Collection:
    """472 questions over five documents; a gold span weighs as many characters as it has."""
    base = folder / "chunking_eval"
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
    return _collection("chunking_eval", documents, questions, count_tokens, by_unit=False)


def _hotpotqa(folder: Path, count_tokens: TokenCounter) -> Collection:
    """100 questions over 994 paragraphs; each supporting sentence weighs the same."""
    base = folder / "hotpotqa"
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
    return _collection("hotpotqa", documents, questions, count_tokens, by_unit=True)


def _musique(folder: Path, count_tokens: TokenCounter) -> Collection:
    """100 questions over 1,890 paragraphs; each supporting paragraph weighs the same."""
    base = folder / "musique"
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
    return _collection("musique", documents, questions, count_tokens, by_unit=True)


def _collection(
    name: str, documents: dict[str, str], questions: list[Question], count_tokens: TokenCounter, *, by_unit: bool
) -> Collection:
    passages = tuple(passage for document, text in documents.items() for passage in cut(document, text, count_tokens))
    return Collection(name, documents, passages, tuple(questions), by_unit)


def cut(document: str, text: str, count_tokens: TokenCounter) -> Iterator[Passage]:
    """Yield the chunks that ingestion would make of a plain text."""
    parsed = ParsedDocument(text, document, "text/plain", (Section(0, "", (), 0, 0, len(text)),))
    for span in chunk(parsed, count_tokens, max_tokens=CHUNK_TOKENS):
        yield Passage(text[span.char_start : span.char_end], document, span.char_start, span.char_end)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
