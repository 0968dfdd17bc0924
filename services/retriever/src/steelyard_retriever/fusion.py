"""Reciprocal rank fusion of two rankings."""

from collections.abc import Sequence

RRF_K = 60
"""The constant of Cormack, Clarke and Büttcher (SIGIR 2009), which found 60 to work across collections."""


def reciprocal_rank_fusion(rankings: Sequence[Sequence[str]]) -> list[tuple[str, float]]:
    """Fuse rankings of chunk ids, best first: score = sum over rankings of 1 / (60 + rank), rank counting from 1.

    Returns ids with their scores, best first; ties by the best single rank, then by id.
    """
    scores: dict[str, float] = {}
    best: dict[str, int] = {}
    for ranking in rankings:
        for rank, chunk_id in enumerate(ranking, start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1 / (RRF_K + rank)
            best[chunk_id] = min(rank, best.get(chunk_id, rank))
    return sorted(scores.items(), key=lambda item: (-item[1], best[item[0]], item[0]))
