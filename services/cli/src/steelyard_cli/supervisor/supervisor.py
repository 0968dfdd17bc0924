"""The supervisor of one run."""

import asyncio
import os
import signal
import sys
from contextlib import suppress

from .child import Child
from .logfile import BoundedLog
from .plan import Plan, RunFolder
from .processes import identify, of_run, terminate
from .state import RunRecord, exclusive, write_record

_RETRY_S = 1.0
_LOG_CHECK_S = 5.0


class Supervisor:
    """Runs a plan's services until SIGTERM, SIGINT, or (when attached) the end of standard input."""

    def __init__(self, plan: Plan, folder: RunFolder) -> None:
        self._plan = plan
        self._folder = folder
        self._stop = asyncio.Event()
        self._changed = asyncio.Event()
        myself = identify(os.getpid())
        assert myself is not None
        self._logs = [BoundedLog(folder.log(service.name), plan.log_bytes) for service in plan.services]
        self._children = [
            Child(service, plan, log, self._changed.set) for service, log in zip(plan.services, self._logs, strict=True)
        ]
        self._record = RunRecord(
            run_id=plan.run_id, supervisor=myself, services=[child.record for child in self._children]
        )

    async def run(self) -> None:
        """Start every service, keep it running, and at the end stop them in reverse order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        if self._plan.attached:
            loop.add_reader(sys.stdin.fileno(), self._stop_at_end_of_input)
        # The run's id must be on record before the first child exists, so that no child can be overlooked.
        write_record(self._folder.state, self._record)
        try:
            async with asyncio.TaskGroup() as group:
                keepers = [group.create_task(self._keep_record()), group.create_task(self._bound_logs())]
                for child in self._children:
                    group.create_task(child.run())
                await self._stop.wait()
                for child in reversed(self._children):
                    await child.stop(self._plan.grace_s)
                for keeper in keepers:
                    keeper.cancel()
        finally:
            terminate(of_run(self._plan.run_id), self._plan.grace_s)
        write_record(self._folder.state, self._record)

    def _stop_at_end_of_input(self) -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._stop.set()

    async def _keep_record(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                write_record(self._folder.state, self._record)
            except OSError:
                # A full disk must not end the stack: the record is written as soon as there is room.
                self._changed.set()
                await asyncio.sleep(_RETRY_S)

    async def _bound_logs(self) -> None:
        while True:
            await asyncio.sleep(_LOG_CHECK_S)
            for log in self._logs:
                # No room for the older file: the next check tries again.
                with suppress(OSError):
                    await asyncio.to_thread(log.bound)


def supervise(plan: Plan, folder: RunFolder) -> None:
    """Run a plan to its end. Raises LockedError when the folder has a supervisor already."""
    with exclusive(folder.lock):
        asyncio.run(_run(plan, folder))


async def _run(plan: Plan, folder: RunFolder) -> None:
    await Supervisor(plan, folder).run()
