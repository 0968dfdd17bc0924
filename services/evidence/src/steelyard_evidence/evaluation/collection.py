"""Passages with their place in a document, and questions with the places of their evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Passage:
    """A candidate text. `start` and `end` are the half-open span of `document`, in code points, that it holds.

    A near-copy has another text than its original, and the same span.
    """

    text: str
    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """One piece of evidence: a half-open span of a document."""

    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question and all of its evidence. `number` counts within the collection from 0 and parts tuning from test."""

    number: int
    text: str
    gold: tuple[GoldSpan, ...]


@dataclass(frozen=True)
class Collection:
    """One data set: what is searched, what is asked, and the documents' own texts.

    `by_unit` says how evidence is weighed: each gold span the same, or else each character the same, which is how the
    data set's authors define recall.
    """

    name: str
    documents: dict[str, str] = field(repr=False)
    passages: tuple[Passage, ...] = field(repr=False)
    questions: tuple[Question, ...] = field(repr=False)
    by_unit: bool

    def with_passages(self, passages: Sequence[Passage]) -> "Collection":
        """The same questions over other passages."""
        return Collection(self.name, self.documents, tuple(passages), self.questions, self.by_unit)

    @cached_property
    def _by_document(self) -> dict[str, npt.NDArray[np.int64]]:
        """For each document the number of characters, other than white space, before each of its positions."""
        return {
            name: np.concatenate([[0], np.cumsum([not c.isspace() for c in text])]).astype(np.int64)
            for name, text in self.documents.items()
        }

    def ink(self, document: str, start: int, end: int) -> int:
        """Characters of a span that are not white space: what a chunker may trim away is no evidence."""
        before = self._by_document[document]
        return int(before[end] - before[start])
