"""Scores of the doubles of reranking servers: by hash, so that each belongs to its pair."""

import hashlib
from collections.abc import Sequence

from tests.harness.model_server_double import Row


def score(query: str, text: str) -> float:
    """A pure function of one pair in [0, 1]; texts that begin with `tie` all have the same."""
    if text.startswith("tie"):
        return 0.5
    return int.from_bytes(hashlib.sha256(f"{query}\0{text}".encode()).digest()[:6]) / 2**48


def tokens(query: str, text: str) -> int:
    """The double's tokens of a pair: words, and three special tokens."""
    return len(query.split()) + len(text.split()) + 3


def ranked(rows: Sequence[Row], key: str) -> list[Row]:
    """Rows as providers send them: best first."""
    return sorted(rows, key=lambda row: -row[key])
