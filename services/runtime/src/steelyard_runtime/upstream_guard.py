"""What stands between a service and one neighbour: a bulkhead, a circuit breaker, and the counts of both."""

import math
import time

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError

from . import logs
from .breaker import Circuit, CircuitBreaker
from .bulkhead import Bulkhead, BulkheadFullError
from .metrics import Metrics
from .upstream_errors import NoReplyError


class UpstreamGuard:
    """Lets calls to `stage` through, or refuses them in the service's own name before anything is sent."""

    def __init__(self, stage: Stage, places: int, metrics: Metrics | None = None) -> None:
        self.breaker = CircuitBreaker(time.monotonic)
        self.bulkhead = Bulkhead(places)
        self._stage = stage
        self._metrics = metrics
        self._told = Circuit.CLOSED

    def passage(self) -> "Passage":
        """The way of one call: entering it asks whether the call may be made, leaving it learns from how it ended.

        Entering raises UpstreamError: `upstream_unreachable` while the circuit is open and `overloaded` when the
        bulkhead is full, both with the time after which to try again.
        """
        return Passage(self)

    async def enter(self) -> None:
        """See `passage`."""
        if self.breaker.state is Circuit.OPEN:
            self._count("circuit_open")
            raise self._circuit_open()
        try:
            await self.bulkhead.take()
        except BulkheadFullError:
            self._count("bulkhead_full")
            raise UpstreamError(
                ErrorCode.OVERLOADED,
                f"already waiting for {self.bulkhead.places} replies of {self._stage}",
                stage=self._stage,
                retry_after_s=1,
            ) from None
        if not self.breaker.admits():
            self.bulkhead.give_back()
            self._count("circuit_open")
            raise self._circuit_open()

    def leave(self, error: BaseException | None) -> None:
        """See `passage`. A call that was cancelled says nothing about the neighbour."""
        self.bulkhead.give_back()
        if isinstance(error, NoReplyError):
            if error.counts:
                self.breaker.failed()
                self._tell()
            self._count("no_reply")
        elif error is None:
            self._answered("answered")
        elif isinstance(error, SteelyardError):
            self._answered("refused")  # not what was hoped for, but the neighbour is there

    def check(self) -> None:
        """Raise the error of an open circuit, for a probe of readiness."""
        if self.breaker.state is Circuit.OPEN:
            raise self._circuit_open()

    def _answered(self, result: str) -> None:
        self.breaker.succeeded()
        self._tell()
        self._count(result)

    def _count(self, result: str) -> None:
        if self._metrics is not None:
            self._metrics.upstream_calls.labels(self._stage, result).inc()

    def _tell(self) -> None:
        """Say once that the circuit has opened or closed."""
        state = Circuit.CLOSED if self.breaker.state is Circuit.CLOSED else Circuit.OPEN
        if state is self._told:
            return
        self._told = state
        logs.get().warning("circuit_changed", upstream=str(self._stage), state=str(state))
        if self._metrics is not None:
            self._metrics.circuit_open.labels(self._stage).set(state is Circuit.OPEN)

    def _circuit_open(self) -> UpstreamError:
        return UpstreamError(
            ErrorCode.UPSTREAM_UNREACHABLE,
            f"{self._stage} is not asked for a moment, because its last {self.breaker.failures} calls got no reply",
            stage=self._stage,
            retry_after_s=max(1, math.ceil(self.breaker.retry_after_s)),
        )


class Passage:
    """One call's way through a guard, as an asynchronous context manager."""

    __slots__ = ("_guard",)

    def __init__(self, guard: UpstreamGuard) -> None:
        self._guard = guard

    async def __aenter__(self) -> None:
        await self._guard.enter()

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._guard.leave(error)
