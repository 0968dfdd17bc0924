"""The evidence of a study's question among its candidates."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..evaluation.collection import Collection, GoldSpan, Passage, Question
from ..tuning.gold import Gold


def gold_of(collection: Collection, question: Question, candidates: Sequence[Passage]) -> Gold:
    """Split the question's gold spans at every candidate's ends and note who holds what."""
    columns: list[list[bool]] = []
    weights: list[float] = []
    for span in question.gold:
        pieces = _pieces(span, candidates)
        sizes = [collection.ink(span.document, start, end) for start, end in pieces]
        for (start, end), size in zip(pieces, sizes, strict=True):
            columns.append(
                [one.document == span.document and one.start <= start and end <= one.end for one in candidates]
            )
            weights.append(size / sum(sizes) if collection.by_unit else float(size))
    covers = np.array(columns, dtype=np.bool_).T.reshape(len(candidates), len(columns))
    shares = np.array(weights, dtype=np.float64)
    return Gold(covers, shares / shares.sum())


def _pieces(span: GoldSpan, candidates: Sequence[Passage]) -> list[tuple[int, int]]:
    cuts = {span.start, span.end}
    for one in candidates:
        if one.document == span.document:
            cuts |= {cut for cut in (one.start, one.end) if span.start < cut < span.end}
    return list(pairwise(sorted(cuts)))
