"""The vectors of one request, and their alignment with the candidates."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import EmbeddingMisalignedError

Vector = Sequence[float] | npt.NDArray[np.floating[Any]]

_SMALLEST_SQUARE = float(np.finfo(np.float32).tiny)
_MOST_NAMED = 3
_QUERY = "the query"


@dataclass(frozen=True, eq=False, slots=True)
class UnitEmbeddings:
    """Vectors of length 1, in the order of the candidates they were aligned with.

    Attributes:
        chunks: float32[n, d].
        query: float32[d].
    """

    chunks: npt.NDArray[np.float32]
    query: npt.NDArray[np.float32]

    def rows(self, positions: Sequence[int]) -> "UnitEmbeddings":
        """Return the vectors of some of the candidates, in the order of `positions`."""
        return UnitEmbeddings(self.chunks[positions], self.query)


@dataclass(frozen=True, eq=False, slots=True)
class Embeddings:
    """The vectors of one request as they came; nothing is checked before `align`.

    Only `adaptive` uses vectors, so only it can fail on them: a stray vector is no fault of a request for `slice`.

    Attributes:
        by_chunk_id: chunk id -> d numbers (rows of one float32 matrix are quickest), `None` for a chunk that has none.
        query: d numbers, or `None` when the request brought no query vector.
    """

    by_chunk_id: Mapping[str, Vector | None]
    query: Vector | None

    def only(self, chunk_ids: Collection[str]) -> "Embeddings":
        """Return the vectors of some of the chunks; an id without one stays without one."""
        kept = {chunk_id: vector for chunk_id, vector in self.by_chunk_id.items() if chunk_id in chunk_ids}
        return Embeddings(kept, self.query)

    def align(self, chunk_ids: Sequence[str]) -> UnitEmbeddings:
        """Return unit vectors in the order of `chunk_ids`, matched by id and never by position.

        Raises:
            EmbeddingMisalignedError: the query or a chunk has no vector, a vector belongs to no candidate, its length
                is not the query's, an entry is not finite, or the norm is zero. The last two are judged in float32 on
                the square of the norm: a norm below 1e-19 counts as zero, one above 1e19 as not finite.
        """
        if self.query is None:
            raise EmbeddingMisalignedError("the query has no embedding")
        vectors = {chunk_id: vector for chunk_id in chunk_ids if (vector := self.by_chunk_id.get(chunk_id)) is not None}
        if len(vectors) != len(chunk_ids):
            missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in vectors]
            raise EmbeddingMisalignedError(
                f"{len(missing)} of {len(chunk_ids)} chunks have no embedding: {_some(missing)}"
            )
        if len(self.by_chunk_id) != len(vectors):
            stray = sorted(self.by_chunk_id.keys() - vectors.keys())
            raise EmbeddingMisalignedError(f"{len(stray)} embeddings belong to no candidate: {_some(stray)}")
        with np.errstate(over="ignore"):  # what overflows float32 becomes infinite and is refused by name
            query = _vector(_QUERY, self.query)
            rows = [_vector(chunk_id, vector, len(query)) for chunk_id, vector in vectors.items()]
            unit = _unit_rows(np.concatenate([query, *rows]).reshape(-1, len(query)), [_QUERY, *chunk_ids])
        return UnitEmbeddings(chunks=unit[1:], query=unit[0])


def _vector(name: str, numbers: Vector, dimensions: int | None = None) -> npt.NDArray[np.float32]:
    try:
        vector = np.asarray(numbers, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingMisalignedError(f"embedding of {name!r} is not a vector of numbers") from error
    if vector.ndim != 1 or not vector.size:
        raise EmbeddingMisalignedError(f"embedding of {name!r} has shape {vector.shape}, not (d,)")
    if dimensions is not None and len(vector) != dimensions:
        raise EmbeddingMisalignedError(f"embedding of {name!r} has {len(vector)} numbers, the query's has {dimensions}")
    return vector


def _unit_rows(rows: npt.NDArray[np.float32], names: Sequence[str]) -> npt.NDArray[np.float32]:
    """Scale each row to length 1, in place."""
    squares = np.vecdot(rows, rows)
    usable = (squares >= _SMALLEST_SQUARE) & np.isfinite(squares)
    if not usable.all():
        first = int(usable.argmin())
        fault = "a norm of zero" if squares[first] < _SMALLEST_SQUARE else "numbers that are not finite in float32"
        raise EmbeddingMisalignedError(f"embedding of {names[first]!r} has {fault}")
    rows /= np.sqrt(squares)[:, np.newaxis]
    return rows


def _some(chunk_ids: Sequence[str]) -> str:
    shown = ", ".join(repr(chunk_id) for chunk_id in chunk_ids[:_MOST_NAMED])
    return shown if len(chunk_ids) <= _MOST_NAMED else f"{shown}, ..."
