"""One child process: its start, its end, and its next start."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from .backoff import Backoff
from .logfile import BoundedLog
from .plan import Plan, ServicePlan
from .processes import RUN_MARKER, identify
from .state import ProcessPhase, ServiceRecord

EXIT_CONFIGURATION = 2
_EXIT_NOT_STARTED = 127
_LAST_LINES = 20


class Child:
    """Keeps one service running until it is stopped or refuses its settings; `on_change` hears of every change."""

    def __init__(self, service: ServicePlan, plan: Plan, log: BoundedLog, on_change: Callable[[], None]) -> None:
        self.record = ServiceRecord(
            name=service.name, url=service.url, ready_path=service.ready_path, port=service.port, log=log.path
        )
        self._command = service.command
        self._environ = {**os.environ, RUN_MARKER: plan.run_id, "PYTHONUNBUFFERED": "1"}
        self._log = log
        self._backoff = Backoff(plan.backoff_first_s, plan.backoff_longest_s, plan.stable_s)
        self._on_change = on_change
        self._process: asyncio.subprocess.Process | None = None
        self._spawning = asyncio.Lock()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Start the process, and start it again whenever it ends, with growing pauses."""
        loop = asyncio.get_running_loop()
        while not self._stopping.is_set():
            started = loop.time()
            code = await self._run_once()
            if self._stopping.is_set():
                break
            if code == EXIT_CONFIGURATION:
                # The same settings would be refused again.
                self._change(ProcessPhase.REFUSED)
                return
            self._change(ProcessPhase.RESTARTING)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._backoff.after(loop.time() - started)):
                    await self._stopping.wait()
        self._change(ProcessPhase.STOPPED)

    async def stop(self, grace_s: float) -> None:
        """Ask the process to end; after `grace_s` seconds kill it and whatever it started."""
        self._stopping.set()
        async with self._spawning:
            process = self._process
        if process is None or process.returncode is not None:
            return
        self._change(ProcessPhase.STOPPING)
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(grace_s):
                await process.wait()
        except TimeoutError:
            _kill_group(process.pid)
            await process.wait()

    async def _run_once(self) -> int | None:
        """Run the process to its end; None when `stop` came first."""
        async with self._spawning:
            if self._stopping.is_set():
                return None
            try:
                process = self._process = await self._spawn()
            except OSError as error:
                return self._ended(_EXIT_NOT_STARTED, [f"{self._command[0]} can not be started: {error}"])
        self.record.process = identify(process.pid)
        self._change(ProcessPhase.RUNNING)
        code = await process.wait()
        # Workers that outlive the process would keep its port.
        _kill_group(process.pid)
        return self._ended(code, self._log.tail(_LAST_LINES))

    async def _spawn(self) -> asyncio.subprocess.Process:
        with self._log.open() as stream:
            return await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=stream,
                stderr=asyncio.subprocess.STDOUT,
                env=self._environ,
                # Its own group, so that a kill reaches its workers too.
                process_group=0,
            )

    def _ended(self, code: int, last_lines: list[str]) -> int:
        self.record.process = None
        if not self._stopping.is_set():
            self.record.exits += 1
            self.record.last_exit = f"signal {-code}" if code < 0 else f"exit code {code}"
            self.record.last_lines = last_lines
        return code

    def _change(self, phase: ProcessPhase) -> None:
        self.record.phase = phase
        self._on_change()


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
