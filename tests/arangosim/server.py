"""The server object: coordinators over one state, each a real HTTP listener, all in one thread of their own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from aiohttp import web

from tests.arangosim.accounts import Accounts
from tests.arangosim.clock import Clock, ManualClock
from tests.arangosim.faults import Faults
from tests.arangosim.http.app import build
from tests.arangosim.journal import Journal, QueryRecord, RequestRecord
from tests.arangosim.state import ServerState
from tests.arangosim.version import Version

T = TypeVar("T")


class ArangoSim:
    """A local ArangoDB protocol server, a test tool.

    `coordinators` listeners share one state; `url` is the first one's, `urls` are all. `stop` and `start` keep state
    and ports, so a client sees a dead and a restarted host. Use it as a context manager or call `start` and `stop`.
    """

    def __init__(
        self,
        version: str = "3.12.6",
        *,
        port: int = 0,
        coordinators: int = 1,
        cluster: bool = False,
        root_password: str = "",
        authentication: bool = True,
        vector_index: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self.state = ServerState(Version(version), vector_index_enabled=vector_index, clock=self.clock, cluster=cluster)
        self.state.accounts = Accounts(required=authentication, passwords={"root": root_password})
        self.journal = Journal()
        self.faults = Faults()
        self._ports = [port] * coordinators
        self._runners: list[web.AppRunner | None] = [None] * coordinators
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "ArangoSim":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def urls(self) -> list[str]:
        """One URL per coordinator, valid after the first `start`."""
        return [f"http://127.0.0.1:{port}" for port in self._ports]

    @property
    def url(self) -> str:
        return self.urls[0]

    @property
    def requests(self) -> list[RequestRecord]:
        """All requests so far, faulty ones too."""
        return self.journal.requests

    @property
    def queries(self) -> list[QueryRecord]:
        """All AQL queries so far, with text, bind variables and options."""
        return self.journal.queries

    def start(self, coordinator: int | None = None) -> "ArangoSim":
        """Listen on every coordinator's port, or on one's."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop.run_forever, name="arangosim", daemon=True)
            self._thread.start()
        for number in self._chosen(coordinator):
            if self._runners[number] is None:
                self._wait(self._listen(number))
        return self

    def stop(self, coordinator: int | None = None) -> None:
        """Stop listening and break open connections. Documents stay; cursors and open transactions are lost."""
        for number in self._chosen(coordinator):
            runner = self._runners[number]
            if runner is not None:
                self._runners[number] = None
                self._wait(runner.cleanup())
                self.state.lose(number)

    def close(self) -> None:
        """Stop for good. Raises an ExceptionGroup of the server's own defects, if a request met any."""
        self.faults.clear()
        if self._thread is not None:
            self.stop()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
            self._thread = None
        self._loop.close()
        if self.journal.crashes:
            raise ExceptionGroup("the protocol server has defects", self.journal.crashes)

    def do(self, action: Callable[[ServerState], T]) -> T:
        """Run `action` on the state between two requests, never during one."""

        async def act() -> T:
            return action(self.state)

        return self._wait(act()) if self._thread is not None else action(self.state)

    def commit_views(self) -> None:
        """Make every write so far visible to the views, as a commit after `commitIntervalMsec` would."""
        self.do(lambda state: state.commit_views())

    def train_vector_indexes(self) -> None:
        """Finish the training that `state.hold_vector_training` kept back."""
        self.do(lambda state: state.train_vector_indexes())

    def _chosen(self, coordinator: int | None) -> list[int]:
        return list(range(len(self._ports))) if coordinator is None else [coordinator]

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(120)

    async def _listen(self, number: int) -> None:
        app = build(self.state, self.journal, self.faults, number)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.05, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self._ports[number], reuse_address=True)
        await site.start()
        self._ports[number] = runner.addresses[0][1]
        self._runners[number] = runner
