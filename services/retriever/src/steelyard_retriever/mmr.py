"""Maximal marginal relevance."""

import numpy as np
import numpy.typing as npt


def maximal_marginal_relevance(
    relevance: npt.NDArray[np.float64], vectors: npt.NDArray[np.float32], k: int, lambda_mult: float
) -> list[int]:
    """Choose up to `k` rows greedily by `lambda * relevance - (1 - lambda) * max cosine to the chosen`.

    `relevance` [n] are the cosines with the query, `vectors` [n, d] have any non-zero norm. Returns row numbers in the
    order of choice; ties take the lower row. Source: Carbonell and Goldstein, SIGIR 1998.
    """
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    closest = np.full(len(units), -np.inf)
    left = np.ones(len(units), dtype=bool)
    chosen: list[int] = []
    for _ in range(min(k, len(units))):
        penalty = np.where(np.isneginf(closest), 0.0, closest)
        gain = np.where(left, lambda_mult * relevance - (1 - lambda_mult) * penalty, -np.inf)
        row = int(np.argmax(gain))
        chosen.append(row)
        left[row] = False
        closest = np.maximum(closest, units @ units[row])
    return chosen
