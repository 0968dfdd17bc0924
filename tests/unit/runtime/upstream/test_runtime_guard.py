"""The HTTP client behind its guard: what opens a circuit, what is repeated, and what a full bulkhead answers."""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any

import pytest

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_runtime.metrics import Metrics
from steelyard_runtime.upstream.breaker import FAILURES, Circuit
from steelyard_runtime.upstream.errors import NoReplyError
from steelyard_runtime.upstream.guard import LOOKS, UpstreamGuard
from steelyard_runtime.upstream.http import Upstream

from ..raw_double import Call, Double, Handler
from .upstream_calls import Reply, bound, good, hang, with_neighbour


async def close(call: Call) -> None:
    call.writer.close()
    raise ConnectionError


async def cut(call: Call) -> None:
    await call.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"value": 1')
    call.writer.close()
    raise ConnectionError


async def error_500(call: Call) -> None:
    await call.reply(b"oops", "500 Oops")


async def nonsense(call: Call) -> None:
    await call.reply(b"not json")


async def outcome(upstream: Upstream) -> ErrorCode | None:
    try:
        await upstream.post("/v1/x", {}, Reply)
    except SteelyardError as error:
        return error.code
    return None


def sample(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(f"steelyard_{name}", labels) or 0.0


@pytest.mark.parametrize("handler", [close, cut])
def test_a_neighbour_that_never_replies_is_soon_not_asked_any_more(handler: Handler) -> None:
    metrics = Metrics("gateway")

    async def use(upstream: Upstream, double: Double) -> None:
        for _ in range(50):
            assert await outcome(upstream) in (ErrorCode.UPSTREAM_UNREACHABLE, ErrorCode.UPSTREAM_BAD_REPLY)
        assert len(double.calls) == FAILURES
        with pytest.raises(UpstreamError, match="not asked for a moment") as error:
            await upstream.post("/v1/x", {}, Reply)
        assert (error.value.code, error.value.stage) == (ErrorCode.UPSTREAM_UNREACHABLE, Stage.RETRIEVER)
        assert error.value.retry_after_s in (1, 2)
        with pytest.raises(UpstreamError, match="not asked for a moment"):
            upstream.guard.check()
        assert sample(metrics, "upstream_circuit_open", upstream="retriever") == 1
        assert sample(metrics, "upstream_calls_total", upstream="retriever", result="no_reply") == FAILURES
        assert sample(metrics, "upstream_calls_total", upstream="retriever", result="circuit_open") == 51 - FAILURES

    with_neighbour(handler, use, metrics=metrics)


def test_a_neighbour_that_comes_back_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("steelyard_runtime.upstream.guard.time.monotonic", lambda: now)
    metrics = Metrics("gateway")

    async def handler(call: Call) -> None:
        await (close(call) if call.number <= FAILURES + 1 else good(call))

    async def use(upstream: Upstream, double: Double) -> None:
        nonlocal now
        results = []
        for at in (*[0.0] * FAILURES, 0.0, 2.5, 2.5, 5.0, 5.0):
            now = at
            results.append(await outcome(upstream))
        down = ErrorCode.UPSTREAM_UNREACHABLE
        assert results == [*[down] * FAILURES, down, down, down, None, None]
        assert len(double.calls) == FAILURES + 3
        assert sample(metrics, "upstream_circuit_open", upstream="retriever") == 0

    with_neighbour(handler, use, metrics=metrics)


@pytest.mark.parametrize("handler", [error_500, nonsense])
def test_an_answer_that_is_no_good_is_an_answer(handler: Handler) -> None:
    async def use(upstream: Upstream, double: Double) -> None:
        for _ in range(3 * FAILURES):
            assert await outcome(upstream) is ErrorCode.UPSTREAM_BAD_REPLY
        assert upstream.guard.breaker.state is Circuit.CLOSED
        assert len(double.calls) == 3 * FAILURES, "nothing of it may be repeated"

    with_neighbour(handler, use, retries=True)


def test_a_caller_with_little_time_can_not_open_a_circuit_and_one_with_enough_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use(upstream: Upstream, _double: Double) -> None:
        for fair, state in ((1.0, Circuit.CLOSED), (0.01, Circuit.OPEN)):
            monkeypatch.setattr("steelyard_runtime.upstream.call._FAIR_S", fair)
            for _ in range(FAILURES):
                bound(0.02)
                assert await outcome(upstream) is ErrorCode.UPSTREAM_TIMEOUT
            assert upstream.guard.breaker.state is state

    with_neighbour(hang, use, retries=True)


class Hanging:
    """A handler that never replies and says when a call has arrived."""

    def __init__(self) -> None:
        self.arrived = asyncio.Semaphore(0)

    async def __call__(self, call: Call) -> None:
        self.arrived.release()
        await hang(call)


def test_a_client_that_leaves_says_nothing_about_the_neighbour() -> None:
    hanging = Hanging()

    async def use(upstream: Upstream, _double: Double) -> None:
        for _ in range(2 * FAILURES):
            task = asyncio.create_task(outcome(upstream))
            await hanging.arrived.acquire()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert (upstream.guard.breaker.state, upstream.guard.breaker.failures) == (Circuit.CLOSED, 0)

    with_neighbour(hanging, use)


async def _begin_and_wait(call: Call) -> None:
    await call.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
    await call.reader.read()


def test_a_client_that_reads_a_stream_slowly_says_nothing_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard_runtime.upstream.call._FAIR_S", 0.01)

    async def use(upstream: Upstream, _double: Double) -> None:
        for _ in range(FAILURES):
            bound(0.05)
            with pytest.raises(UpstreamError):
                async with upstream.stream("/v1/x", {}):
                    await asyncio.Event().wait()
        assert upstream.guard.breaker.state is Circuit.CLOSED

    with_neighbour(_begin_and_wait, use)


class Neighbour:
    """A neighbour that is looked at in vain; `replies` says which paths it answers meanwhile."""

    def __init__(self) -> None:
        self.replies: set[str] = set()
        self.arrived = asyncio.Semaphore(0)

    async def __call__(self, call: Call) -> None:
        self.arrived.release()
        if call.head.split()[1] not in self.replies:
            await hang(call)
        elif "/ready" in call.head:
            await call.reply(b'{"service": "retriever", "ready": true, "dependencies": []}')
        else:
            await good(call)


async def look(upstream: Upstream, times: int = 1) -> None:
    for _ in range(times):
        with contextlib.suppress(UpstreamError):
            await upstream.check_ready(0.02)


def test_a_neighbour_that_hangs_is_given_up_before_the_deadline_of_those_who_wait() -> None:
    neighbour, metrics = Neighbour(), Metrics("gateway")

    async def use(upstream: Upstream, double: Double) -> None:
        bound(3600.0)
        waiting = asyncio.create_task(outcome(upstream))
        await neighbour.arrived.acquire()
        await look(upstream, LOOKS - 1)
        assert not waiting.done()
        await look(upstream)
        assert await waiting is ErrorCode.UPSTREAM_TIMEOUT
        asked = len(double.calls)
        with pytest.raises(UpstreamError, match=f"its last {LOOKS} looks at it got no reply") as error:
            await upstream.post("/v1/x", {}, Reply)
        assert (error.value.code, error.value.retry_after_s) == (ErrorCode.UPSTREAM_UNREACHABLE, 1)
        assert len(double.calls) == asked, "a call would have waited to its deadline"
        assert sample(metrics, "upstream_circuit_open", upstream="retriever") == 1
        neighbour.replies = {"/ready", "/v1/x"}
        await look(upstream)
        assert sample(metrics, "upstream_circuit_open", upstream="retriever") == 0
        assert await outcome(upstream) is None

    with_neighbour(neighbour, use, metrics=metrics)


@pytest.mark.parametrize("answered", ["/v1/x", "/ready"])
def test_one_answer_to_a_call_or_to_a_look_is_enough_not_to_hang(answered: str) -> None:
    neighbour = Neighbour()

    async def use(upstream: Upstream, _double: Double) -> None:
        for _ in range(3):
            neighbour.replies = set()
            await look(upstream, LOOKS - 1)
            neighbour.replies = {answered}
            await (look(upstream) if answered == "/ready" else outcome(upstream))
        neighbour.replies = {"/v1/x"}
        assert await outcome(upstream) is None

    with_neighbour(neighbour, use)


def test_who_waits_for_a_place_is_refused_too_when_the_neighbour_hangs() -> None:
    neighbour = Neighbour()

    async def use(upstream: Upstream, double: Double) -> None:
        bound(3600.0)
        waiting = [asyncio.create_task(outcome(upstream)) for _ in range(2)]
        await neighbour.arrived.acquire()
        await look(upstream, LOOKS)
        assert {await task for task in waiting} <= {
            ErrorCode.UPSTREAM_TIMEOUT,
            ErrorCode.UPSTREAM_UNREACHABLE,
            ErrorCode.OVERLOADED,
        }
        assert sum("/v1/x" in call.head for call in double.calls) == 1

    with_neighbour(neighbour, use, max_calls=1)


class TestRetries:
    def calls(self, fails: Callable[[int], bool], requests: int, **options: Any) -> tuple[int, list[bool]]:
        """Calls that arrived, and whether each of `requests` was answered, when call n fails if `fails(n)`."""
        seen: list[tuple[int, list[bool]]] = []

        async def handler(call: Call) -> None:
            await (close(call) if fails(call.number) else good(call))

        async def use(upstream: Upstream, double: Double) -> None:
            answered = [await outcome(upstream) is None for _ in range(requests)]
            seen.append((len(double.calls), answered))

        with_neighbour(handler, use, **options)
        return seen[0]

    def test_a_single_failure_is_made_good_once_there_is_a_budget(self) -> None:
        # A failure on a connection that had served before is sent again in any case, so both of those calls fail here.
        calls, answered = self.calls(lambda number: number in (11, 12), 20, retries=True)
        assert (calls, all(answered)) == (22, True)
        calls, answered = self.calls(lambda number: number in (11, 12), 20)
        assert (calls, answered.count(False)) == (21, 1)

    def test_total_failure_costs_at_most_1_2_calls_a_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls, answered = self.calls(lambda _number: True, 100, retries=True)
        assert (any(answered), calls) == (False, FAILURES)
        monkeypatch.setattr("steelyard_runtime.upstream.breaker.CircuitBreaker.admits", lambda _self: True)
        monkeypatch.setattr("steelyard_runtime.upstream.breaker.CircuitBreaker.state", Circuit.CLOSED)
        calls, answered = self.calls(lambda _number: True, 100, retries=True)
        assert (any(answered), calls) == (False, 120), "not even without the breaker"

    def test_a_stream_is_never_asked_for_twice(self) -> None:
        async def use(upstream: Upstream, double: Double) -> None:
            for _ in range(4):
                with contextlib.suppress(UpstreamError):
                    async with upstream.stream("/v1/x", {}):
                        pytest.fail("there was a reply")
            assert len(double.calls) == 4

        with_neighbour(close, use, retries=True)

    def test_an_unreachable_address_is_tried_again_too(self) -> None:
        metrics = Metrics("gateway")
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}"

        async def run() -> None:
            bound()
            async with Upstream(Stage.RERANKER, url, metrics=metrics, retries=True) as upstream:
                for _ in range(FAILURES):
                    assert await outcome(upstream) is ErrorCode.UPSTREAM_UNREACHABLE

        asyncio.run(run())
        assert sample(metrics, "upstream_retries_total", upstream="reranker") == 1


def test_a_full_bulkhead_answers_at_once_and_says_when_to_come_back() -> None:
    hanging = Hanging()

    async def use(upstream: Upstream, double: Double) -> None:
        waiting = [asyncio.create_task(outcome(upstream)) for _ in range(2)]
        for _ in waiting:
            await hanging.arrived.acquire()
        with pytest.raises(UpstreamError, match="already waiting for 2 replies of retriever") as error:
            await upstream.post("/v1/x", {}, Reply)
        assert (error.value.code, error.value.status, error.value.retry_after_s) == (ErrorCode.OVERLOADED, 503, 1)
        assert len(double.calls) == 2
        assert upstream.guard.breaker.state is Circuit.CLOSED
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    with_neighbour(hanging, use, max_calls=2)


def test_a_call_whose_own_time_is_up_at_the_moment_of_giving_up_ends_for_either_reason() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        guard = UpstreamGuard(Stage.RETRIEVER, 1)
        await guard.enter()

        def give_up() -> None:
            for _ in range(LOOKS):
                with pytest.raises(NoReplyError), guard.look():
                    raise guard.given_up()
            given_up.set_result(limit.expired())

        given_up: asyncio.Future[bool] = loop.create_future()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as limit:
                guard.watch(limit)
                limit.reschedule(loop.time())
                loop.call_soon(give_up)  # after the time is up, before this task hears of it
                await asyncio.Event().wait()
        assert given_up.done()
        assert given_up.result()
        assert guard.gave_up(limit)

    asyncio.run(work())
