"""The vectors of a store in memory, and exact cosine search over them.

Columns only ever grow: a snapshot is their length at one moment plus a mask of the rows that were alive then.
A refresh therefore never changes what a running search sees, and needs no lock against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from steelyard_store.records import Filter
from steelyard_store.validation import Float32

_Scalar = TypeVar("_Scalar", bound=np.generic)

_FLOAT32_UNIT_ROUNDOFF = 2.0**-24
_BLOCK_ROWS = 4_096
_GATHER_BELOW = 4  # copy the allowed rows first when they are fewer than 1/4; one product over all is faster above
_COMPACT_ABOVE = 4  # rebuild when more than 1/4 of the rows are dead
_COMPACT_MINIMUM = 4_096


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows to append, in ascending ``row_ids``; all fields have the same length.

    Attributes:
        vectors: as published, shape ``[n, d]``.
    """

    row_ids: Sequence[int]
    chunk_ids: Sequence[str]
    scopes: Sequence[str]
    documents: Sequence[str]
    sources: Sequence[str]
    vectors: Float32


def unit_rows(vectors: Float32) -> Float32:
    """Divide each row of ``[n, d]`` by its norm, taken in float64 so that tiny values do not vanish."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    units: Float32 = (vectors / norms[:, np.newaxis]).astype(np.float32)
    return units


def exact_cosines(units: Float32, query: Float32) -> NDArray[np.float64]:
    """Cosines of ``query`` with each unit row, accumulated in float64, clipped to [-1, 1].

    Every row is summed in the same order wherever it stands, so equal vectors get equal scores. A matrix product
    does not promise that, and ties would then be broken by chance.
    """
    wide = query.astype(np.float64)
    unit = wide / np.sqrt(wide @ wide)
    scores = np.empty(units.shape[0], dtype=np.float64)
    for start in range(0, units.shape[0], _BLOCK_ROWS):
        block = units[start : start + _BLOCK_ROWS].astype(np.float64)
        scores[start : start + _BLOCK_ROWS] = (block * unit).sum(axis=1)
    return np.clip(scores, -1.0, 1.0)


@dataclass(frozen=True, slots=True)
class MatrixSnapshot:
    """The rows of one moment; never changes."""

    units: Float32
    row_ids: NDArray[np.int64]
    chunk_ids: Sequence[str]
    codes: NDArray[np.int32]
    names: tuple[Names, Names, Names]
    alive: NDArray[np.bool_]

    def top(self, query: Float32, k: int, filter: Filter) -> list[tuple[int, float]]:  # noqa: A002  the port's word
        """Return ``(row_id, cosine)`` of the ``k`` best rows that pass ``filter``; ties by ascending chunk id.

        ``query`` has shape ``[d]``, is finite and not zero.

        A float32 product finds every row that can be among the best; those are scored again by ``exact_cosines``.
        The error of a float32 dot product of unit vectors is at most d * 2**-24 (Higham, "Accuracy and Stability of
        Numerical Algorithms", section 3.1), so a row further than twice that below the k-th cannot belong to them.
        """
        allowed = np.flatnonzero(self._allowed(filter))
        if allowed.size == 0:
            return []
        positions = allowed
        if allowed.size > k:
            rough = self._rough_scores(query, allowed)
            kth = np.partition(rough, -k)[-k]
            slack = 2.0 * (self.units.shape[1] + 4) * _FLOAT32_UNIT_ROUNDOFF
            positions = allowed[rough >= kth - slack]
        scores = exact_cosines(self.units[positions], query)
        ranked = sorted(
            (-score, self.chunk_ids[at], at) for score, at in zip(scores.tolist(), positions.tolist(), strict=True)
        )
        return [(int(self.row_ids[at]), -negated) for negated, _, at in ranked[:k]]

    def _rough_scores(self, query: Float32, allowed: NDArray[np.intp]) -> Float32:
        wide = query.astype(np.float64)
        unit = (wide / np.sqrt(wide @ wide)).astype(np.float32)
        if allowed.size * _GATHER_BELOW < len(self.units):
            return self.units[allowed] @ unit
        every: Float32 = self.units @ unit
        return every if allowed.size == len(every) else every[allowed]

    def _allowed(self, filter: Filter) -> NDArray[np.bool_]:  # noqa: A002
        mask = self.alive
        for column, wanted in enumerate((filter.scopes, filter.document_ids, filter.sources)):
            if wanted is not None:
                mask = mask & np.isin(self.codes[:, column], self.names[column].codes(wanted))
        return mask


class VectorMatrix:
    """Builds snapshots; one thread at a time may change it, any number may use its snapshots."""

    def __init__(self, dimension: int) -> None:
        self._length = 0
        self._dead = 0
        self._units = np.empty((0, dimension), dtype=np.float32)
        self._row_ids = np.empty(0, dtype=np.int64)
        self._codes = np.empty((0, 3), dtype=np.int32)
        self._alive = np.empty(0, dtype=np.bool_)
        self._chunk_ids: list[str] = []
        self._names = (Names(), Names(), Names())

    @property
    def last_row_id(self) -> int:
        """Highest row id ever appended, 0 if none."""
        return int(self._row_ids[self._length - 1]) if self._length else 0

    def reserve(self, rows: int) -> None:
        """Make room for ``rows`` in total, so that appending them does not copy what is there."""
        self._units = _grown(self._units, self._length, rows)
        self._row_ids = _grown(self._row_ids, self._length, rows)
        self._codes = _grown(self._codes, self._length, rows)
        self._alive = _grown(self._alive, self._length, rows)

    def append(self, batch: Batch) -> None:
        """Add rows behind those that are there; their row ids must be higher than ``last_row_id``."""
        start, end = self._length, self._length + len(batch.row_ids)
        if end > len(self._units):
            self.reserve(max(end, start + start // 4))
        self._units[start:end] = unit_rows(batch.vectors)
        self._row_ids[start:end] = batch.row_ids
        for column, values in enumerate((batch.scopes, batch.documents, batch.sources)):
            self._codes[start:end, column] = [self._names[column].code(value) for value in values]
        self._alive[start:end] = True
        self._chunk_ids.extend(batch.chunk_ids)
        self._length = end

    def remove(self, row_ids: Iterable[int]) -> None:
        """Mark rows dead; ids that were never appended are ignored."""
        wanted = np.fromiter(row_ids, dtype=np.int64)
        positions = np.searchsorted(self._row_ids[: self._length], wanted)
        inside = positions < self._length
        positions, wanted = positions[inside], wanted[inside]
        positions = positions[self._row_ids[positions] == wanted]
        self._dead += int(np.count_nonzero(self._alive[positions]))
        self._alive[positions] = False
        if self._dead >= _COMPACT_MINIMUM and self._dead * _COMPACT_ABOVE > self._length:
            self._compact()

    def snapshot(self) -> MatrixSnapshot:
        """Return the rows as they are now."""
        length = self._length
        return MatrixSnapshot(
            units=self._units[:length],
            row_ids=self._row_ids[:length],
            chunk_ids=self._chunk_ids,
            codes=self._codes[:length],
            names=self._names,
            alive=self._alive[:length].copy(),
        )

    def _compact(self) -> None:
        # New arrays, not moves within the old ones: earlier snapshots still read those.
        keep = np.flatnonzero(self._alive[: self._length])
        self._units = self._units[keep]
        self._row_ids = self._row_ids[keep]
        codes = self._codes[keep]
        first, second, third = (names.only(codes[:, column]) for column, names in enumerate(self._names))
        self._names = (first[0], second[0], third[0])
        self._codes = np.stack([first[1], second[1], third[1]], axis=1)
        self._alive = np.ones(len(keep), dtype=np.bool_)
        self._chunk_ids = [self._chunk_ids[at] for at in keep]
        self._length = len(keep)
        self._dead = 0


class Names:
    """Small numbers for the distinct values of a column."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        """Return the number of ``name``, a new one if it is new."""
        return self._codes.setdefault(name, len(self._codes))

    def codes(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of those ``names`` that any row has."""
        return [code for name in names if (code := self._codes.get(name)) is not None]

    def only(self, codes: NDArray[np.int32]) -> tuple[Names, NDArray[np.int32]]:
        """Return new numbers without gaps for the names that ``codes`` still uses, and ``codes`` in those numbers."""
        used, renumbered = np.unique(codes, return_inverse=True)
        by_code = list(self._codes)
        kept = Names()
        for code in used:
            kept.code(by_code[code])
        return kept, renumbered.astype(np.int32)


def _grown(array: NDArray[_Scalar], length: int, rows: int) -> NDArray[_Scalar]:
    if rows <= len(array):
        return array
    larger = np.empty((rows, *array.shape[1:]), dtype=array.dtype)
    larger[:length] = array[:length]
    return larger
