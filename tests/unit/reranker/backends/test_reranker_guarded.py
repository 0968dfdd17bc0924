"""The bounds around every backend."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_reranker.backends.guarded import Guarded
from steelyard_reranker.backends.port import RerankBackendError
from steelyard_runtime import context
from steelyard_runtime.upstream.breaker import CircuitBreaker
from tests.unit.reranker.fake_backend import FakeBackend


def bound(deadline_s: float) -> None:
    context.bind(context.RequestContext("r", asyncio.get_running_loop().time() + deadline_s))


def guarded(backend: FakeBackend) -> Guarded:
    return Guarded(backend, breaker=CircuitBreaker(time.monotonic, failures=2, cooldown_s=60.0), most_waiting=2)


def reasons(backend: FakeBackend, times: int, deadline_s: float = 30.0) -> list[str]:
    async def run() -> list[str]:
        bound(deadline_s)
        guard, seen = guarded(backend), []
        for _ in range(times):
            try:
                await guard.scores("q", ["a"])
                seen.append("ok")
            except RerankBackendError as error:
                seen.append(error.reason)
        return seen

    return asyncio.run(run())


@pytest.mark.parametrize("reason", ["unreachable", "overloaded", "bad_status", "bad_reply", "timeout"])
def test_failures_that_would_come_again_open_the_breaker(reason: str) -> None:
    backend = FakeBackend(fault=RerankBackendError(reason, "no"))
    assert reasons(backend, 4) == [reason, reason, "circuit_open", "circuit_open"]
    assert len(backend.seen) == 2


@pytest.mark.parametrize("reason", ["rejected", "wrong_count", "misdeclared", "unauthorized"])
def test_other_failures_do_not(reason: str) -> None:
    assert reasons(FakeBackend(fault=RerankBackendError(reason, "no")), 4) == [reason] * 4


def test_a_backend_that_had_hardly_any_time_is_not_blamed_for_being_late() -> None:
    assert reasons(FakeBackend(fault=RerankBackendError("timeout", "no")), 4, deadline_s=0.9) == ["timeout"] * 4


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda scores: scores[1:], "wrong_count"),
        (lambda scores: [float("nan")], "not_finite"),
        (lambda scores: [2.0], "out_of_scale"),
        (lambda scores: [True], "not_a_number"),
        (ZeroDivisionError("document text"), "crashed"),
    ],
)
def test_scores_are_checked_and_whatever_is_raised_has_a_name(fault: Any, reason: str) -> None:
    assert reasons(FakeBackend(fault=fault), 1) == [reason]


def test_what_the_request_itself_is_to_blame_for_passes_as_it_is() -> None:
    with pytest.raises(SteelyardError):
        reasons(FakeBackend(fault=SteelyardError(ErrorCode.INVALID_REQUEST, "no")), 1)
    with pytest.raises(SteelyardError) as error:
        reasons(FakeBackend(), 1, deadline_s=-1.0)
    assert error.value.code is ErrorCode.DEADLINE_EXCEEDED


def test_scoring_ends_before_the_request_does() -> None:
    class Never(FakeBackend):
        async def scores(self, query: str, texts: Any) -> list[Any]:
            await asyncio.Event().wait()
            return []

    async def run() -> None:
        bound(0.2)
        with pytest.raises(RerankBackendError) as error:
            await guarded(Never()).scores("q", ["a"])
        assert error.value.reason == "timeout"
        assert context.current().remaining_s() > 0

    asyncio.run(run())


def test_as_many_as_may_wait_wait_and_a_cancelled_one_makes_room() -> None:
    class Gate(FakeBackend):
        open = asyncio.Event()

        async def scores(self, query: str, texts: Any) -> list[Any]:
            await self.open.wait()
            return [0.5] * len(texts)

    async def run() -> None:
        bound(30.0)
        gate = Gate()
        gate.open = asyncio.Event()
        guard = guarded(gate)

        async def soon(call: Callable[[], Awaitable[Any]]) -> "asyncio.Task[Any]":
            task = asyncio.ensure_future(call())
            await asyncio.sleep(0)
            return task

        first, second = [await soon(lambda: guard.scores("q", ["a"])) for _ in range(2)]
        with pytest.raises(RerankBackendError) as error:
            await guard.scores("q", ["a"])
        assert error.value.reason == "saturated"
        assert await guard.scores("q", []) == []
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        third = await soon(lambda: guard.scores("q", ["a"]))
        gate.open.set()
        assert await second == await third == [0.5]

    asyncio.run(run())
