"""Cosine floors: which candidates are dropped before reranking, on cosine scores only."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CosineFloors:
    """`best` is the least best cosine of a request, `each` the least of a candidate; None is off, 0 is a floor."""

    best: float | None = None
    each: float | None = None

    def below(self, cosines: Mapping[str, float]) -> frozenset[str]:
        """The ids that the floors drop, of those whose cosine is known: no other kind of score is judged here."""
        if self.best is not None and cosines and max(cosines.values()) < self.best:
            return frozenset(cosines)
        if self.each is None:
            return frozenset()
        return frozenset(chunk_id for chunk_id, cosine in cosines.items() if cosine < self.each)
