"""What stands between a service and one neighbour: a bulkhead, a circuit breaker, and the counts of both."""

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError

from .. import logs
from ..metrics import Metrics
from .breaker import Circuit, CircuitBreaker
from .bulkhead import Bulkhead, BulkheadFullError
from .errors import NoReplyError

LOOKS = 3
"""Looks in a row without a reply after which a neighbour hangs, whatever time its calls still have."""


class UpstreamGuard:
    """Lets calls to `stage` through, or refuses them in the service's own name before anything is sent.

    A neighbour whose looks (`look`) go unanswered is not asked, and who waits for it waits no longer, until it answers
    one: a call would only find out the same by waiting to its deadline.
    """

    def __init__(self, stage: Stage, places: int, metrics: Metrics | None = None) -> None:
        self.breaker = CircuitBreaker(time.monotonic)
        self.bulkhead = Bulkhead(places)
        self._stage = stage
        self._metrics = metrics
        self._told = Circuit.CLOSED
        self._unanswered = 0
        self._waiting: set[asyncio.Timeout] = set()

    async def enter(self) -> None:
        """Ask for a call, which is to `leave`.

        Raises UpstreamError: `upstream_unreachable` while the circuit is open and `overloaded` when the bulkhead is
        full, both with the time after which to try again.
        """
        if self._hangs or self.breaker.state is Circuit.OPEN:
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
        if self._hangs or not self.breaker.admits():
            self.bulkhead.give_back()
            self._count("circuit_open")
            raise self._circuit_open()

    def watch(self, limit: asyncio.Timeout) -> None:
        """Let `limit` end the call when the neighbour turns out to hang."""
        self._waiting.add(limit)

    def gave_up(self, limit: asyncio.Timeout) -> bool:
        """Whether the call of `limit`, which has ended it, was ended for that."""
        return limit not in self._waiting

    def leave(self, limit: asyncio.Timeout, error: BaseException | None) -> None:
        """Learn from how a call ended. One that was cancelled says nothing about the neighbour."""
        self._waiting.discard(limit)
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

    @contextmanager
    def look(self) -> Iterator[None]:
        """Learn from a probe of readiness, whatever it says, whether the neighbour answers at all."""
        try:
            yield
        except NoReplyError:
            self._unanswered += 1
            self._tell()
            if self._unanswered == LOOKS:
                waiting, self._waiting = self._waiting, set()
                for limit in waiting:
                    if not limit.expired():  # else its own time is up at this very moment
                        limit.reschedule(asyncio.get_running_loop().time())
            raise
        except UpstreamError:
            self._seen()
            raise
        self._seen()

    def given_up(self) -> NoReplyError:
        """The error of a call that `look` ended."""
        detail = f"{self._stage} did not reply, and did not when it was looked at {LOOKS} times"
        return NoReplyError(ErrorCode.UPSTREAM_TIMEOUT, detail, stage=self._stage)

    def check(self) -> None:
        """Raise the error of an open circuit, for a probe of readiness."""
        if self.breaker.state is Circuit.OPEN:
            raise self._circuit_open()

    @property
    def _hangs(self) -> bool:
        return self._unanswered >= LOOKS

    def _seen(self) -> None:
        self._unanswered = 0
        self._tell()

    def _answered(self, result: str) -> None:
        self._unanswered = 0
        self.breaker.succeeded()
        self._tell()
        self._count(result)

    def _count(self, result: str) -> None:
        if self._metrics is not None:
            self._metrics.upstream_calls.labels(self._stage, result).inc()

    def _tell(self) -> None:
        """Say once that the circuit has opened or closed."""
        closed = self.breaker.state is Circuit.CLOSED and not self._hangs
        state = Circuit.CLOSED if closed else Circuit.OPEN
        if state is self._told:
            return
        self._told = state
        logs.get().warning("circuit_changed", upstream=str(self._stage), state=str(state))
        if self._metrics is not None:
            self._metrics.circuit_open.labels(self._stage).set(state is Circuit.OPEN)

    def _circuit_open(self) -> UpstreamError:
        unanswered = f"{LOOKS} looks at it" if self._hangs else f"{self.breaker.failures} calls"
        return UpstreamError(
            ErrorCode.UPSTREAM_UNREACHABLE,
            f"{self._stage} is not asked for a moment, because its last {unanswered} got no reply",
            stage=self._stage,
            retry_after_s=max(1, math.ceil(self.breaker.retry_after_s)),
        )
