"""How new a candidate is beside those already kept."""

import numpy as np

from .embeddings import UnitEmbeddings


class NoveltyMeter:
    """Novelty of each candidate at its turn, for candidates that take their turns in order.

    `clamp01(1 - cos(e_i, e_j) * (1 - |cos(e_i, q) - cos(e_j, q)|))` with j the kept candidate that is most similar to i
    by plain cosine, the best ranked of equals; 1 while nothing is kept.

    Each kept candidate costs one matrix-vector product with the candidates after it, which updates the most similar one
    of each: O(n * kept * d) in all, with no n x n matrix and no loop over pairs. The product is `vecdot` rather than
    `@`: nearly as fast at this size, a cosine does not depend on what else is in the matrix, and it never starts BLAS
    threads, whose hand-over takes longer than the whole selection when the machine is busy.
    """

    def __init__(self, embeddings: UnitEmbeddings) -> None:
        self._chunks = embeddings.chunks
        self._query_cosines = np.vecdot(embeddings.chunks, embeddings.query)
        self._nearest_cosines = np.full(len(self._chunks), -np.inf, dtype=np.float32)
        self._nearest_query_cosines = np.zeros_like(self._nearest_cosines)
        self._any_kept = False

    def at(self, position: int) -> float:
        """Return the novelty, in [0, 1], of a candidate beside those kept before it."""
        if not self._any_kept:
            return 1.0
        nearest: float = self._nearest_cosines.item(position)
        gap: float = abs(self._query_cosines.item(position) - self._nearest_query_cosines.item(position))
        return min(1.0, max(0.0, 1.0 - nearest * (1.0 - gap)))

    def keep(self, position: int) -> None:
        """Count a candidate among the kept, for all that come after it."""
        later = slice(position + 1, None)
        cosines = np.vecdot(self._chunks[later], self._chunks[position])
        nearer = cosines > self._nearest_cosines[later]
        np.putmask(self._nearest_cosines[later], nearer, cosines)
        np.putmask(self._nearest_query_cosines[later], nearer, self._query_cosines[position])
        self._any_kept = True
