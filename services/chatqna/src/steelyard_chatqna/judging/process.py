"""The gateway's side of judging: starts the judging process, asks it, and replaces it when it dies or hangs."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

from steelyard_contracts.enums import CitationMode
from steelyard_runtime import companion, logs

from ..grounding.evidence import SentChunk
from ..grounding.extractive import Extract
from ..verdict import Verdict
from .channel import Channel, ChannelClosedError, RaisedError
from .worker import Opening

_PROGRAM = ("-I", "-X", "utf8", "-m", "steelyard_chatqna.judging.worker")
_START_S = 60.0
_HUNG_S = 30.0
"""A process that says nothing for so long, though it was asked, is replaced; a judgement takes milliseconds."""
_END_S = 2.0
_TRIES = 3
"""A process that one answer kills takes the calls of others with it, which are then asked again."""

Call = Callable[[Channel], tuple[Any, ...]]
"""What to ask over a channel: the operation's name and its arguments."""


class JudgingError(Exception):
    """The judging process died each time that it was asked, or could not be started."""


class JudgingProcess:
    """Judges, extracts and compares in one other process, call after call. Use as an async context manager."""

    def __init__(self) -> None:
        self._starting = asyncio.Lock()
        self._running: _Running | None = None
        self._cases = count()

    async def __aenter__(self) -> Self:
        await self._channel()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._running is not None:
            await self._running.end()

    @contextmanager
    def case(self, question: str, sent: Sequence[SentChunk], mode: CitationMode) -> Iterator["Case"]:
        """One answer to `question` from the chunks that were `sent`, to be judged as it grows."""
        case = Case(self, next(self._cases), (question, tuple(sent), mode))
        try:
            yield case
        finally:
            case.close()

    async def extract(self, question: str, sent: Sequence[SentChunk]) -> Extract | None:
        """See `grounding.extractive.extract`; raises JudgingError."""
        found: Extract | None = await self.ask(lambda _: ("extract", question, tuple(sent)))
        return found

    async def distortion(self, question: str, history: str, rewritten: str) -> str | None:
        """See `grounding.rewriting.distortion`; raises JudgingError."""
        wrong: str | None = await self.ask(lambda _: ("distortion", question, history, rewritten))
        return wrong

    async def check(self) -> None:
        """Raise JudgingError when there is no process to ask and none can be started; for the probe of readiness."""
        await self._channel()

    async def ask(self, call: Call) -> Any:
        """The result of what `call` asks; raises JudgingError, and RaisedError for a fault of ours in it."""
        for _ in range(_TRIES):
            channel = await self._channel()
            try:
                return await channel.call(*call(channel))
            except ChannelClosedError:
                continue
            except RaisedError as error:
                logs.get().error("judging_failed", where=str(error))
                raise
        raise JudgingError(f"the judging process died {_TRIES} times over one call")

    async def _channel(self) -> Channel:
        """The channel to a process that runs as far as is known."""
        running = self._running
        if running is not None and running.is_usable():
            return running.channel
        async with self._starting:
            running = self._running
            if running is not None and not running.is_usable():
                self._running = None
                await running.end()
                logs.get().error("judging_process_replaced", status=running.process.returncode)
            if self._running is None:
                self._running = await _start()
            return self._running.channel


class Case:
    """One answer that is being judged."""

    def __init__(self, process: JudgingProcess, number: int, opening: Opening) -> None:
        self._process = process
        self._number = number
        self._opening = opening
        self._opened_on: Channel | None = None

    async def judge(self, answer: str) -> Verdict:
        """The verdict on what there is of the answer; raises JudgingError."""
        verdict: Verdict = await self._process.ask(lambda channel: self._call(channel, answer))
        return verdict

    def close(self) -> None:
        """Let the process forget the case."""
        if self._opened_on is not None:
            self._opened_on.tell("close", self._number)

    def _call(self, channel: Channel, answer: str) -> tuple[Any, ...]:
        # A process that was started since has never heard of it.
        opening = None if self._opened_on is channel else self._opening
        self._opened_on = channel
        return "judge", self._number, opening, answer


@dataclass(frozen=True, slots=True)
class _Running:
    """A process and the channel to it."""

    process: Process
    channel: Channel

    def is_usable(self) -> bool:
        """Whether it answers, as far as is known."""
        return not self.channel.closed and self.channel.silent_s() < _HUNG_S

    async def end(self) -> None:
        """End it. Closing tells it to; one that is at work, or takes no notice, has nothing to save."""
        idle = not self.channel.is_waiting
        self.channel.close()
        if idle:
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await self.process.wait()
                    return
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


async def _start() -> _Running:
    """A process that has loaded all that it needs; raises JudgingError."""
    try:
        process, ours = await companion.start(_PROGRAM, {})
    except OSError as error:
        raise JudgingError(f"the judging process could not be started ({error.strerror})") from error
    _, channel = await asyncio.get_running_loop().create_connection(Channel, sock=ours)
    running = _Running(process, channel)
    try:
        async with asyncio.timeout(_START_S):
            await channel.call("open_cases")
    except BaseException as error:
        await running.end()
        if not isinstance(error, ChannelClosedError | TimeoutError):
            raise
        raise JudgingError(f"the judging process did not start (status {process.returncode})") from error
    return running
