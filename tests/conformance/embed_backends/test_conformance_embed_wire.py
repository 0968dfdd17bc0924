"""What happens on the wire, and the code under which it reaches the caller."""

import asyncio
from pathlib import Path

import pytest

from steelyard_contracts.errors import ErrorCode, UpstreamError
from tests.harness import model_server_double as double_wire
from tests.harness.model_server_double import Fault, status

from .labs import WIRE, Lab, sample, within

STATUSES = {
    301: ErrorCode.UPSTREAM_BAD_REPLY,
    400: ErrorCode.UPSTREAM_BAD_REPLY,
    401: ErrorCode.MODEL_UNAVAILABLE,
    403: ErrorCode.MODEL_UNAVAILABLE,
    404: ErrorCode.UPSTREAM_BAD_REPLY,
    413: ErrorCode.UPSTREAM_BAD_REPLY,
    422: ErrorCode.UPSTREAM_BAD_REPLY,
    424: ErrorCode.UPSTREAM_BAD_REPLY,
    429: ErrorCode.OVERLOADED,
    500: ErrorCode.UPSTREAM_BAD_REPLY,
    502: ErrorCode.UPSTREAM_BAD_REPLY,
    503: ErrorCode.OVERLOADED,
}


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("code", STATUSES)
def test_a_status_has_a_code_and_is_named(kind: str, code: int, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = status(code, Location="http://127.0.0.1:1/elsewhere")
        with pytest.raises(UpstreamError, match=str(code)) as error:
            await lab.vectors(sample(3))
        assert error.value.code is STATUSES[code]
        assert len(lab.double.calls) == 1

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize(("given", "told"), [("7", 7), ("0", 1), ("nonsense", 1), (None, 1)])
def test_an_overloaded_server_says_when_to_come_back(kind: str, given: str | None, told: int, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = status(429) if given is None else status(429, Retry_After=given)
        with pytest.raises(UpstreamError) as error:
            await lab.vectors(sample(3))
        assert error.value.retry_after_s == told
        lab.double.fault = None
        assert len(await lab.vectors(["cat"])) == 1

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize(
    "fault",
    [
        double_wire.reset,
        double_wire.reset_in_body,
        double_wire.truncated,
        double_wire.truncated_chunks,
        double_wire.gzip_bomb,
        double_wire.compressed,
        double_wire.endless,
    ],
)
def test_a_reply_that_does_not_come_whole_is_none(kind: str, fault: Fault, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = fault
        assert await lab.code() in (ErrorCode.UPSTREAM_BAD_REPLY, ErrorCode.UPSTREAM_UNREACHABLE)
        lab.double.fault = None
        await lab.embedder.probe()
        assert len(await lab.vectors(sample(3))) == 3

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("what", ["hang", "drip"])
def test_a_server_that_does_not_end_is_given_up_at_the_deadline(kind: str, what: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = lab.double.hang() if what == "hang" else lab.double.drip()
        assert await lab.code(deadline_s=0.5) is ErrorCode.UPSTREAM_TIMEOUT
        lab.double.fault = None
        assert len(await lab.vectors(["cat"])) == 1

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_busy_server_is_still_ready(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = lab.double.hang()
        waiting = [asyncio.create_task(lab.vectors([f"cat {i}"])) for i in range(12)]
        while not lab.double.calls:  # noqa: ASYNC110  the double has no event for it
            await asyncio.sleep(0.001)
        await lab.embedder.probe()
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_server_that_gives_no_replies_is_left_alone_after_a_few(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = double_wire.reset
        for _ in range(12):
            await lab.code()
            lab.double.fault = None
            await lab.embedder.probe()
            lab.double.fault = double_wire.reset
        texts = [call for call in lab.double.calls if len(lab.sent(call)) == 3]
        assert len(texts) <= 10  # five calls, each sent once more where its pooled connection was closed
        assert await lab.code() is ErrorCode.UPSTREAM_UNREACHABLE

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_wrong_key_has_a_name_and_is_not_told(kind: str, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("sk-CANARY-0123")

    async def use(lab: Lab) -> None:
        if kind == "tei":
            await lab.vectors(["cat"])
            assert lab.double.heads[0]["Authorization"] == "Bearer sk-CANARY-0123"
            return
        with pytest.raises(UpstreamError, match="EMBEDDING_API_KEY_FILE") as error:
            await lab.vectors(["cat"])
        assert error.value.code is ErrorCode.MODEL_UNAVAILABLE
        assert "CANARY" not in str(error.value)

    within(kind, tmp_path, use, embedding_api_key_file=str(tmp_path / "wrong"))
