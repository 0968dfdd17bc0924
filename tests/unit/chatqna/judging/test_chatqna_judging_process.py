"""The real judging process: the same verdicts as here, and what becomes of calls when it dies, hangs or is left."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard_chatqna.grounding.evidence import SentChunk
from steelyard_chatqna.grounding.extractive import extract
from steelyard_chatqna.grounding.rewriting import distortion
from steelyard_chatqna.judging import process as judging_process
from steelyard_chatqna.judging.channel import RaisedError
from steelyard_chatqna.judging.process import JudgingError, JudgingProcess
from steelyard_chatqna.verdict import Judge
from steelyard_contracts.enums import CitationMode
from steelyard_runtime import companion
from tests.unit.chatqna.fakes import QUESTION, SEAL, TORQUE, metadata, run

ATTRIBUTED, INLINE = CitationMode.ATTRIBUTED, CitationMode.INLINE
SENT = (SentChunk(1, "a", SEAL, metadata("a", SEAL)), SentChunk(2, "b", TORQUE))
ANSWER = f"{SEAL} The pump is painted black. 保守点検は毎月行う。 {TORQUE} [2] [7]"


def used(work: Callable[[JudgingProcess], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with JudgingProcess() as judging:
            return await work(judging)

    return run(main, 60)


def pid(judging: JudgingProcess) -> int:
    assert judging._running is not None
    return judging._running.process.pid


def open_cases(judging: JudgingProcess) -> Awaitable[int]:
    return judging.ask(lambda _: ("open_cases",))


@pytest.mark.parametrize("mode", [ATTRIBUTED, INLINE])
def test_a_growing_answer_gets_the_verdicts_that_it_gets_here(mode: CitationMode) -> None:
    here = Judge(QUESTION, SENT, mode)

    async def work(judging: JudgingProcess) -> None:
        with judging.case(QUESTION, SENT, mode) as case:
            for length in (len(SEAL), 60, len(ANSWER)):
                assert await case.judge(ANSWER[:length]) == here.judge(ANSWER[:length])

    used(work)


def test_cases_under_way_at_once_are_kept_apart_and_forgotten_in_the_end() -> None:
    async def judged(judging: JudgingProcess, number: int) -> None:
        text = f"Pump {number} is tightened to {number} Nm."
        with judging.case(QUESTION, (SentChunk(1, f"c{number}", text),), ATTRIBUTED) as case:
            await case.judge(text[:10])
            verdict = await case.judge(text)
        assert [one.quote for one in verdict.citations] == [text]
        assert verdict.unsupported == ()

    async def work(judging: JudgingProcess) -> None:
        await asyncio.gather(*(judged(judging, number) for number in range(200)))
        with judging.case(QUESTION, SENT, ATTRIBUTED) as case:
            await case.judge(SEAL)
            assert await open_cases(judging) == 1
        with judging.case(QUESTION, SENT, ATTRIBUTED):
            pass
        assert await open_cases(judging) == 0

    used(work)


def test_it_extracts_and_compares_as_here() -> None:
    async def work(judging: JudgingProcess) -> None:
        assert await judging.extract(QUESTION, SENT) == extract(QUESTION, SENT)
        asked = "And to Japan?", "How long does shipping to Kenya take?", "How long does it take?"
        assert await judging.distortion(*asked) == distortion(*asked)

    used(work)


def test_the_event_loop_goes_on_while_it_judges() -> None:
    async def work(judging: JudgingProcess) -> None:
        os.kill(pid(judging), signal.SIGSTOP)
        with judging.case(QUESTION, SENT, ATTRIBUTED) as case:
            task = asyncio.create_task(case.judge(SEAL))
            for _ in range(1000):
                await asyncio.sleep(0)
            assert not task.done()
            os.kill(pid(judging), signal.SIGCONT)
            assert (await task).citations

    used(work)


def test_a_long_answer_arrives_whole() -> None:
    """Larger than any buffer on the way, in both directions."""
    text = " ".join(f"Bolt {number} is tightened to {number} Nm." for number in range(3000))

    async def work(judging: JudgingProcess) -> None:
        with judging.case("Which torque?", (SentChunk(1, "a", "x " * 200_000),), ATTRIBUTED) as case:
            verdict = await case.judge(text)
        assert verdict.text == text
        assert len(verdict.unsupported) == 3000

    used(work)


class TestDying:
    def test_calls_under_way_are_asked_again_of_another_process(self) -> None:
        here = Judge(QUESTION, SENT, ATTRIBUTED)

        async def work(judging: JudgingProcess) -> None:
            first = pid(judging)
            with judging.case(QUESTION, SENT, ATTRIBUTED) as begun, judging.case(QUESTION, SENT, ATTRIBUTED) as new:
                assert (await begun.judge(SEAL)).citations
                os.kill(first, signal.SIGSTOP)
                tasks = [asyncio.create_task(case.judge(ANSWER)) for case in (begun, new)]
                await asyncio.sleep(0)
                os.kill(first, signal.SIGKILL)
                assert [await task for task in tasks] == [here.judge(ANSWER)] * 2
            assert pid(judging) != first
            assert await open_cases(judging) == 0

        used(work)

    def test_one_that_idles_is_replaced_by_the_probe(self) -> None:
        async def work(judging: JudgingProcess) -> None:
            first = pid(judging)
            channel = judging._running.channel  # type: ignore[union-attr]
            os.kill(first, signal.SIGKILL)
            while not channel.closed:  # noqa: ASYNC110 - until the loop has heard of it
                await asyncio.sleep(0)
            await judging.check()
            assert pid(judging) != first

        used(work)

    def test_a_call_that_kills_each_process_is_an_error_and_no_verdict(self) -> None:
        async def work(judging: JudgingProcess) -> None:
            def killing(_: object) -> tuple[str]:
                os.kill(pid(judging), signal.SIGKILL)
                return ("open_cases",)

            with pytest.raises(JudgingError, match="died 3 times"):
                await judging.ask(killing)
            assert await open_cases(judging) == 0

        used(work)

    def test_one_that_hangs_is_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(judging_process, "_HUNG_S", 0.0)

        async def work(judging: JudgingProcess) -> None:
            first = pid(judging)
            os.kill(first, signal.SIGSTOP)
            with judging.case(QUESTION, SENT, ATTRIBUTED) as case:
                hanging = asyncio.create_task(case.judge(SEAL))
                await asyncio.sleep(0)
                await judging.check()
                assert pid(judging) != first
                monkeypatch.setattr(judging_process, "_HUNG_S", 30.0)
                assert (await hanging).citations

        used(work)

    def test_one_that_can_not_be_started_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(judging_process, "_PROGRAM", ("-c", "raise SystemExit(3)"))
        with pytest.raises(JudgingError, match="status 3"):
            used(open_cases)


def test_a_machine_that_starts_no_process_is_told_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(companion, "start", full)
    with pytest.raises(JudgingError, match="temporarily unavailable"):
        used(open_cases)


def test_what_the_worker_raises_is_raised_without_a_text_of_the_case() -> None:
    async def work(judging: JudgingProcess) -> None:
        with pytest.raises(RaisedError, match=r"(?s)AttributeError\n.*worker\.py") as caught:
            await judging.ask(lambda _: ("judge", 1, (QUESTION, "secret words", ATTRIBUTED), "x"))
        assert "secret" not in str(caught.value)
        with judging.case(QUESTION, SENT, ATTRIBUTED) as case:
            assert (await case.judge(SEAL)).citations, "the next one is judged"

    used(work)


def test_leaving_a_call_leaves_nothing_behind() -> None:
    async def work(judging: JudgingProcess) -> None:
        os.kill(pid(judging), signal.SIGSTOP)
        with judging.case(QUESTION, SENT, ATTRIBUTED) as case:
            task = asyncio.create_task(case.judge(SEAL))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        os.kill(pid(judging), signal.SIGCONT)
        assert await open_cases(judging) == 0
        assert not judging._running.channel._waiting  # type: ignore[union-attr]

    used(work)


def test_it_ends_with_the_gateway(tmp_path: Path) -> None:
    async def main() -> int:
        async with JudgingProcess() as judging:
            return pid(judging)

    ended = run(main, 60)
    with pytest.raises(ProcessLookupError):
        os.kill(ended, 0)
