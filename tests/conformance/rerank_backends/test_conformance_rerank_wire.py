"""What can happen on the way: statuses, broken connections, replies that never end."""

import asyncio
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from steelyard_reranker.backends.batching import WITNESSES
from steelyard_reranker.backends.port import RerankBackendError
from steelyard_runtime import context
from tests.harness import model_server_double as server
from tests.harness.model_server_double import Fault, status

from .labs import IN_PROCESS, WIRE, Lab, double_of, sample, within

STATUSES: dict[int, str] = {
    300: "bad_status",
    401: "unauthorized",
    402: "bad_status",
    403: "unauthorized",
    408: "bad_status",
    424: "bad_status",
    429: "overloaded",
    500: "bad_status",
    502: "bad_status",
    503: "overloaded",
    504: "bad_status",
}


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("code", STATUSES)
def test_a_status_that_is_no_success_has_a_name_and_costs_one_call(kind: str, code: int, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = status(code, b'{"error": "no"}')
        assert await lab.reason(sample(101)) == STATUSES[code]
        assert len(lab.double.calls) == 1

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("code", [400, 413, 422])
def test_a_refusal_of_everything_costs_no_more_calls_than_there_are_witnesses(
    kind: str, code: int, tmp_path: Path
) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = status(code, b'{"error": "no"}')
        assert await lab.reason(sample(101)) == "rejected"
        assert len(lab.double.calls) == 1 + WITNESSES

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_redirect_is_not_followed(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        async with double_of(kind) as other:
            lab.double.fault = status(307, b"", Location=f"{other.url}{other.path}")
            assert await lab.reason() == "bad_status"
            assert other.calls == []

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("code", [429, 503])
def test_a_server_that_asks_to_be_left_alone_is_left_alone(kind: str, code: int, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = status(code, Retry_After="30")
        assert await lab.reason() == "overloaded"
        assert await lab.reason() == "circuit_open"
        assert len(lab.double.calls) == 1

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("value", ["0", "soon", "-5", "Wed, 21 Oct 2015 07:28:00 GMT", ""])
def test_a_retry_after_that_says_no_seconds_holds_nothing_up(kind: str, value: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = status(429, Retry_After=value)
        assert await lab.reason() == "overloaded"
        lab.double.fault = None
        assert len(await lab.scores("a cat", sample(3))) == 3

    within(kind, tmp_path, use)


BROKEN: dict[str, tuple[Fault, set[str]]] = {
    "reset before the reply": (server.reset, {"unreachable"}),
    "reset in the body": (server.reset_in_body, {"bad_reply", "unreachable"}),
    "closed in the body": (server.truncated, {"bad_reply"}),
    "closed between chunks": (server.truncated_chunks, {"bad_reply"}),
    "a compressed reply": (server.compressed, {"bad_reply"}),
    "a gzip bomb": (server.gzip_bomb, {"bad_reply"}),
    "a reply without end": (server.endless, {"bad_reply"}),
}


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("what", BROKEN)
def test_a_reply_that_does_not_arrive_whole_is_none(kind: str, what: str, tmp_path: Path) -> None:
    fault, reasons = BROKEN[what]

    async def use(lab: Lab) -> None:
        lab.double.fault = fault
        assert await lab.reason() in reasons
        # A connection that had served before may have been closed while it idled, so that one is tried once more.
        assert len(lab.double.calls) <= (2 if kind == "tei" and fault is server.reset else 1)
        lab.double.fault = None
        assert len(await lab.scores("a cat", sample(3))) == 3

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("what", ["hang", "drip"])
def test_a_reply_that_does_not_end_is_given_up_before_the_deadline(kind: str, what: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        await lab.scores("a cat", sample(2))
        lab.double.fault = lab.double.hang() if what == "hang" else lab.double.drip()
        with pytest.raises(RerankBackendError) as error:
            await lab.scores("a cat", sample(101), deadline_s=2.0)
        assert error.value.reason == "timeout"
        assert context.current().remaining_s() > 0
        assert len(lab.double.calls) == 2

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_server_that_is_not_there_is_unreachable_and_used_again_when_it_is(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        right = await lab.scores("a cat", sample(3))
        await lab.double.__aexit__()
        assert await lab.reason() == "unreachable"
        with pytest.raises(RerankBackendError):
            # What was seen a moment ago counts for nothing after a failure.
            await lab.backend.probe()
        await lab.double.restart()
        assert await lab.scores("a cat", sample(3)) == right
        await lab.backend.probe()

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_dead_server_is_left_alone_after_a_few_requests(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = status(500)
        reasons = [await lab.reason(sample(101)) for _ in range(40)]
        assert reasons == ["bad_status"] * 5 + ["circuit_open"] * 35
        assert len(lab.double.calls) == 5

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_slow_server_takes_no_more_requests_than_half_of_the_services(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        await lab.scores("a cat", sample(1))
        lab.double.fault = lab.double.hang()
        waiting = [asyncio.create_task(lab.scores("a cat", sample(1))) for _ in range(3)]
        await asyncio.sleep(0)
        assert await lab.reason() == "saturated"
        for task in waiting:
            task.cancel()
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in ends)
        lab.double.fault = None
        assert len(await lab.scores("a cat", sample(3))) == 3

    within(kind, tmp_path, use, steelyard_max_concurrency=6)


@pytest.mark.parametrize("kind", IN_PROCESS)
def test_a_model_in_this_process_stops_when_nobody_waits_for_it(kind: str, tmp_path: Path) -> None:
    began, go = Event(), Event()
    runs: list[int] = []

    def hold(outputs: Any) -> Any:
        runs.append(len(outputs))
        began.set()
        assert go.wait(60)
        return outputs

    async def use(lab: Lab) -> None:
        lab.plant(hold)
        left = asyncio.create_task(lab.scores("a cat", ["the sea likes fish " * 100] * 40))
        assert await asyncio.to_thread(began.wait, 60)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        go.set()
        assert len(await lab.scores("a cat", ["the sea"])) == 1
        # One that was running already, and the second call's own; late interaction reads its query apart.
        assert len(runs) == (3 if kind == "local" else 2)

    within(kind, tmp_path, use)


def test_a_key_is_shown_to_a_tei_server_as_a_bearer_token(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("tei-key\n")

    async def use(lab: Lab) -> None:
        await lab.scores("a cat", sample(1))
        assert lab.double.heads[0]["Authorization"] == "Bearer tei-key"

    within("tei", tmp_path, use, rerank_api_key_file=str(tmp_path / "key"))


@pytest.mark.parametrize("kind", ["cohere", "pinecone"])
def test_a_wrong_key_has_a_name(kind: str, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("another-key")

    async def use(lab: Lab) -> None:
        assert await lab.reason() == "unauthorized"

    within(kind, tmp_path, use, rerank_api_key_file=str(tmp_path / "wrong"))


@pytest.mark.parametrize("kind", WIRE)
def test_nothing_compressed_is_asked_for(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        await lab.scores("a cat", sample(1))
        assert lab.double.heads[0]["Accept-Encoding"] == "identity"

    within(kind, tmp_path, use)
