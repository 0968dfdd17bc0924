"""What holds for every backend: its share of the time, how many may wait for it, its breaker, and sound scores."""

import asyncio
from collections.abc import Sequence

from steelyard_contracts.errors import SteelyardError
from steelyard_runtime import context, logs
from steelyard_runtime.upstream.breaker import CircuitBreaker

from ..row_fault import RowFault
from .port import RerankBackend, RerankBackendError, checked
from .reasons import BackendReason

SHARE_OF_TIME = 0.9
"""Part of the request's remaining time that scoring may take; the rest is for saying what to do without the scores."""
TIME_WITHOUT_REQUEST_S = 30.0
_FAIR_S = 1.0
"""A backend that had less time than this is not blamed for having been late."""
_BLAMED = frozenset(
    {
        BackendReason.UNREACHABLE,
        BackendReason.TIMEOUT,
        BackendReason.OVERLOADED,
        BackendReason.BAD_STATUS,
        BackendReason.BAD_REPLY,
    }
)
"""Failures after which the next request would most likely wait in vain as well."""


class Guarded:
    """A backend within its bounds.

    `most_waiting` requests may be in the backend at once, None for any number; more are told `saturated` without
    waiting, so that a slow backend can not take all the requests that this service may work on. `breaker` is None for a
    backend in this process.
    """

    def __init__(self, backend: RerankBackend, *, breaker: CircuitBreaker | None, most_waiting: int | None) -> None:
        self._backend = backend
        self._breaker = breaker
        self._most_waiting = most_waiting
        self._waiting = 0

    @property
    def model_id(self) -> str:
        """See RerankBackend."""
        return self._backend.model_id

    @property
    def revision(self) -> str:
        """See RerankBackend."""
        return self._backend.revision

    @property
    def policy(self) -> dict[str, object]:
        """See RerankBackend."""
        return self._backend.policy

    async def probe(self) -> None:
        """See RerankBackend. Not bounded: whoever probes bounds it, and it must see a backend that is left alone."""
        await self._backend.probe()

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        """See RerankBackend. No texts ask nobody; the scores are checked."""
        if not texts:
            return []
        if self._most_waiting is not None and self._waiting >= self._most_waiting:
            raise RerankBackendError(
                BackendReason.SATURATED, f"{self._waiting} requests wait for the reranking model already"
            )
        self._waiting += 1
        try:
            if self._breaker is None:
                return await self._bounded(query, texts, _time_s())
            return await self._attempted(self._breaker, query, texts)
        finally:
            self._waiting -= 1

    async def _attempted(self, breaker: CircuitBreaker, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        time_s = _time_s()
        if not breaker.admits():
            raise RerankBackendError(
                BackendReason.CIRCUIT_OPEN,
                f"the reranking model is left alone for {breaker.retry_after_s:.1f} s more after its latest failures",
            )
        try:
            scores = await self._bounded(query, texts, time_s)
        except RerankBackendError as error:
            late = error.reason == BackendReason.TIMEOUT
            if error.reason in _BLAMED and (time_s >= _FAIR_S or not late):
                breaker.failed(error.hold_s)
            elif not late:
                breaker.succeeded()
            raise
        breaker.succeeded()
        return scores

    async def _bounded(self, query: str, texts: Sequence[str], time_s: float) -> list[float | RowFault]:
        try:
            async with asyncio.timeout(time_s):
                return list(checked(await self._backend.scores(query, texts), len(texts)))
        except TimeoutError as error:
            raise RerankBackendError(
                BackendReason.TIMEOUT, f"no scores for {len(texts)} candidates within {time_s:.3g} s"
            ) from error
        except (RerankBackendError, SteelyardError):
            raise
        except Exception as error:
            kind = type(error).__name__
            logs.get().error("rerank_backend_crashed", kind=kind, at=logs.place(error))
            raise RerankBackendError(BackendReason.CRASHED, f"the backend failed with {kind}") from error


def _time_s() -> float:
    """Seconds that scoring may take now; raises `deadline_exceeded` when the request has none left."""
    try:
        return context.current().remaining_s() * SHARE_OF_TIME
    except LookupError:
        return TIME_WITHOUT_REQUEST_S
