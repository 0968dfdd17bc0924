"""Vector search: approximate through the vector index where that is safe, exact where it is not."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import numpy as np

from steelyard_store.arangodb import queries
from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.faults import VectorIndexUnusable
from steelyard_store.arangodb.meta import Meta
from steelyard_store.arangodb.rows import chunk_from, clamped
from steelyard_store.records import Filter, Hit
from steelyard_store.validation import Float32, check_dimension

# ruff: noqa: A002  `filter` is the port's word for this argument.

Run = Callable[[str, Mapping[str, Any]], Awaitable[tuple[Meta, dict[str, Any]]]]
OnFallback = Callable[[str], None]
"""Told each time that an exact search had to stand in: ``not_applied``, ``not_ready`` or ``too_few``."""

_MARGIN = 16
"""Neighbours beyond ``k`` that are asked for: equal scores at the cut are told apart by id, which the index does not,
and chunks that are being replaced drop out."""
_LEAST_PROBES = 32
"""Lists that a search looks into at least: each has a filter on scopes, so a part of what they hold does not count. The
server's own default of 1 list finds less than half of the nearest vectors."""
_PROBED_SHARE = 8
"""One list in so many is looked into when there are many."""
_PAUSE_S = 30.0
"""How long an index that could not be used is left alone; every search would otherwise be asked twice."""


def probes(lists: int) -> int:
    """How many of an index's lists a search looks into."""
    return min(lists, max(_LEAST_PROBES, lists // _PROBED_SHARE))


def direction(query: Float32) -> list[float]:
    """The query at unit length, so that a single precision index neither overflows nor underflows on it."""
    wide = query.astype(np.float64)
    # Scaled before its norm is taken: the square of a tiny float32 still is a normal double, that of a huge one too.
    return (wide / np.linalg.norm(wide)).tolist()  # type: ignore[no-any-return]


class VectorSearch:
    """Decides for each search how it is done, and remembers when the index could not be used."""

    def __init__(self, address: ArangoAddress, run: Run, on_fallback: OnFallback) -> None:
        self._address = address
        self._run = run
        self._on_fallback = on_fallback
        self._paused_until = 0.0
        self._reason: str | None = None

    @property
    def fallback(self) -> str | None:
        """Why searches are exact although there is an index; None when they are not."""
        return self._reason

    async def top(self, meta: Meta, query: Float32, k: int, filter: Filter) -> list[Hit]:
        """Return the ``k`` visible chunks of highest cosine that pass ``filter``; ties by ascending chunk id.

        Raises:
            DimensionMismatch, StoreError
        """
        # Named documents and sources are few chunks, which the index would mostly not look at.
        narrow = filter.document_ids is not None or filter.sources is not None
        if meta.vector_lists is not None and not narrow and time.monotonic() >= self._paused_until:
            n_probe = probes(meta.vector_lists) if self._address.n_probe is None else self._address.n_probe
            hits = await self._approximate(query, k, filter, n_probe)
            if hits is not None:
                return hits
        return await self._exact(query, k, filter)

    async def _exact(self, query: Float32, k: int, filter: Filter) -> list[Hit]:
        conditions = queries.Conditions(self._address, filter)
        binds = {**conditions.binds, "@chunks": self._address.chunks, "query": direction(query), "k": k}
        meta, reply = await self._run(queries.exact_vector_search(conditions), binds)
        check_dimension(query, meta.model)  # the store may have been made anew for another model since the last look
        return _hits(reply)

    async def _approximate(self, query: Float32, k: int, filter: Filter, n_probe: int) -> list[Hit] | None:
        """The nearest that the index finds, or None when only an exact search can say which they are."""
        conditions = queries.Conditions(self._address, filter)
        fetch = k + _MARGIN
        binds = {
            **conditions.binds,
            "@chunks": self._address.chunks,
            "query": direction(query),
            "fetch": fetch,
            "n_probe": n_probe,
        }
        try:
            _, reply = await self._run(queries.approximate_vector_search(conditions), binds)
        except VectorIndexUnusable as cause:
            self._reason = str(cause)
            self._paused_until = time.monotonic() + _PAUSE_S
            self._on_fallback(cause.reason)
            return None
        self._reason = None
        hits = sorted(_hits(reply), key=lambda hit: (-hit.score, hit.chunk.chunk_id.encode()))
        cut_off = reply["examined"] == fetch
        if len(hits) < k or (cut_off and hits[k - 1].score == hits[-1].score):
            self._on_fallback("too_few")
            return None
        return hits[:k]


def _hits(reply: Mapping[str, Any]) -> list[Hit]:
    return [Hit(chunk_from(row["chunk"]), clamped(row["score"]), "cosine") for row in reply["rows"]]
