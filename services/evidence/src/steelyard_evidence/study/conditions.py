"""The three conditions under which methods are compared: clean, redundant and noisy collections."""

import re
from collections.abc import Sequence
from enum import StrEnum

from ..evaluation.collection import Passage

NEAR_COPIES = 2
NOISE = 10
"""Passages of other data sets that are put among a question's candidates."""

_SMALL_WORDS = re.compile(r"\b(?:the|a|an|of|that|which|and)\b ", re.IGNORECASE)


class Condition(StrEnum):
    """What was done to a collection, or to a question's candidates."""

    CLEAN = "clean"
    """Nothing."""

    REDUNDANT = "redundant"
    """Every passage has two near-copies in the collection, as after two reissues of each document."""

    NOISY = "noisy"
    """The ten passages of the other data sets that are nearest to the question stand among its candidates."""


def near_copies(passage: Passage) -> tuple[Passage, Passage]:
    """A reissue with a line above it, and one that lacks every third small word; both hold the same evidence."""
    reissued = f"Revision B, reissued without technical changes.\n{passage.text}"
    counter = iter(range(len(passage.text)))
    thinned = _SMALL_WORDS.sub(lambda found: "" if next(counter) % 3 == 0 else found[0], passage.text)
    edited = f"{thinned} See also the other parts of this document."
    first, second = (Passage(text, passage.document, passage.start, passage.end) for text in (reissued, edited))
    return first, second


def with_near_copies(passages: Sequence[Passage]) -> list[Passage]:
    """The passages, then all their near-copies."""
    return [*passages, *(copy for passage in passages for copy in near_copies(passage))]
