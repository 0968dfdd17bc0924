"""One question's candidates as selection sees them, and what each of them holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard_reranker.selection import Candidate, Candidates, Embeddings
from steelyard_reranker.selection.embeddings import UnitEmbeddings
from steelyard_reranker.selection.text_identity import duplicate_positions

from .gold import Gold


@dataclass(frozen=True, eq=False, slots=True)
class Case:
    """Candidates in the order in which every strategy works (see `Candidates.canonical_order`).

    Attributes:
        number: of the question within its data set; even ones are tuned on, odd ones tested on.
        scores: float64[n], descending rerank scores.
        tokens: int64[n].
        vectors: float32[n, d], unit vectors of the same candidates in the same order.
        gold: what each of them holds.
        distinct: int64[m], rows of the candidates whose text is no copy of a better one's; `distinct_embeddings` are
            theirs.
    """

    number: int
    scores: npt.NDArray[np.float64]
    tokens: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.float32]
    gold: Gold
    distinct: npt.NDArray[np.int64]
    distinct_embeddings: UnitEmbeddings

    def __len__(self) -> int:
        return len(self.scores)


def make_case(
    number: int,
    texts: Sequence[str],
    scores: npt.NDArray[np.float64],
    tokens: npt.NDArray[np.int64],
    vectors: npt.NDArray[np.float32],
    query_vector: npt.NDArray[np.float32],
    gold: Gold,
) -> Case:
    """Put the columns of n candidates, given in retrieved order, into selection's order."""
    ids = [f"{rank:06d}" for rank in range(len(texts))]
    rows = map(Candidate, ids, scores.tolist(), tokens.tolist(), texts, range(len(texts)))
    candidates = Candidates.from_records(rows)
    order, _ = candidates.canonical_order()
    embeddings = Embeddings(dict(zip(ids, vectors, strict=True)), query_vector).align([ids[row] for row in order])
    copies = duplicate_positions([texts[row] for row in order])
    distinct = [row for row in range(len(order)) if row not in copies]
    return Case(
        number,
        scores[order],
        tokens[order],
        embeddings.chunks,
        gold.of(order),
        np.array(distinct, dtype=np.int64),
        embeddings.rows(distinct),
    )
