"""Which candidates hold which part of a question's evidence, so that evidence that is kept twice counts once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .collection import Collection, GoldSpan, Passage, Question


@dataclass(frozen=True, eq=False, slots=True)
class Gold:
    """The evidence of one question in elementary pieces, each held by a candidate whole or not at all.

    Attributes:
        covers: bool[n candidates, p pieces].
        weights: float64[p], the pieces' shares of all evidence; they add up to 1 with pieces that no candidate holds.
    """

    covers: npt.NDArray[np.bool_]
    weights: npt.NDArray[np.float64]

    def recall(self, kept: Sequence[int] | npt.NDArray[np.int64]) -> float:
        """The share of the evidence that the candidates at these rows hold together, in [0, 1]."""
        if len(kept) == 0:
            return 0.0
        return float(self.weights[self.covers[kept].any(axis=0)].sum())

    @property
    def ceiling(self) -> float:
        """The recall of keeping every candidate."""
        return self.recall(np.arange(len(self.covers)))

    @property
    def supports(self) -> npt.NDArray[np.bool_]:
        """bool[n]: candidates that hold any evidence."""
        return self.covers.any(axis=1)


def gold_of(collection: Collection, question: Question, candidates: Sequence[Passage]) -> Gold:
    """Split the question's gold spans at every candidate's ends and note who holds what."""
    columns: list[list[bool]] = []
    weights: list[float] = []
    for span in question.gold:
        pieces = _pieces(span, candidates)
        sizes = [collection.ink(span.document, start, end) for start, end in pieces]
        whole = sum(sizes)
        for (start, end), size in zip(pieces, sizes, strict=True):
            columns.append(
                [one.document == span.document and one.start <= start and end <= one.end for one in candidates]
            )
            weights.append(size / whole if collection.by_unit else float(size))
    covers = np.array(columns, dtype=np.bool_).T.reshape(len(candidates), len(columns))
    shares = np.array(weights, dtype=np.float64)
    return Gold(covers, shares / shares.sum())


def _pieces(span: GoldSpan, candidates: Sequence[Passage]) -> list[tuple[int, int]]:
    cuts = {span.start, span.end}
    for one in candidates:
        if one.document == span.document:
            cuts |= {cut for cut in (one.start, one.end) if span.start < cut < span.end}
    ordered = sorted(cuts)
    return list(zip(ordered, ordered[1:], strict=False))
