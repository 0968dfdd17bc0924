"""Goodput and shedding when a gateway gets five times the requests that it can serve, over stub neighbours.

    python -m tests.bench.overload_bench [--seconds 10] [--times 5]

The load is open: requests leave at their own rate, whether or not earlier ones were answered. How long a refusal takes
is told twice: by the clock, and in the gateway's processor time, which is what it takes where the gateway has a core of
its own.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit

import httptools
import uvloop

from tests.bench.load import gateway, load, stubs

PLACES = 32
BODY = {"messages": "q", "reranking_strategy": "slice"}


@dataclass
class Outcome:
    """Seconds that the answered and the shed requests took, and everything else that happened.

    `shed_processor` are the seconds of processor time that the gateway used between a request and its refusal.
    """

    answered: list[float] = field(default_factory=list)
    shed: list[float] = field(default_factory=list)
    shed_processor: list[float] = field(default_factory=list)
    other: list[str] = field(default_factory=list)


class Connection(asyncio.Protocol):
    """A connection that sends one request at a time and reads no more of a reply than its status and its end.

    A full HTTP client takes more of a processor than the gateway takes for a refusal, and would measure itself.
    """

    def __init__(self) -> None:
        self.closed = False
        self._transport: asyncio.WriteTransport | None = None
        self._done: asyncio.Future[bool] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop's is of no class of asyncio's

    def ask(self, request: bytes) -> "asyncio.Future[bool]":
        """Send `request`; the result says whether the reply has a `Retry-After`, `status` is its status."""
        assert self._transport is not None
        self._parser = httptools.HttpResponseParser(self)
        self._retry_after = False
        self._done = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._done

    @property
    def status(self) -> int:
        return int(self._parser.get_status_code())

    def on_header(self, name: bytes, _value: bytes) -> None:
        self._retry_after = self._retry_after or name.lower() == b"retry-after"

    def on_message_complete(self) -> None:
        if self._done is not None:
            self._done.set_result(self._retry_after)
            self._done = None

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if self._done is not None:
            self._done.set_exception(exc or ConnectionResetError("the gateway closed the connection"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


async def flood(url: str, pid: int, rate: float, seconds: float) -> Outcome:
    """Send `rate` requests a second for `seconds` to the gateway of process `pid`."""
    outcome = Outcome()
    target = urlsplit(url)
    body = json.dumps(BODY)
    request = (
        f"POST {target.path} HTTP/1.1\r\nHost: {target.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
    idle: list[Connection] = []
    loop = asyncio.get_running_loop()

    async def ask() -> None:
        started, before = time.perf_counter(), _processor_s(pid)
        try:
            connection = idle.pop() if idle else None
            if connection is None or connection.closed:
                _, connection = await loop.create_connection(Connection, target.hostname, target.port)
            retry_after = await connection.ask(request)
        except OSError as error:
            outcome.other.append(type(error).__name__)
            return
        took = time.perf_counter() - started
        if connection.status == 200:
            outcome.answered.append(took)
        elif connection.status == 503 and retry_after:
            outcome.shed.append(took)
            outcome.shed_processor.append(_processor_s(pid) - before)
        else:
            outcome.other.append(str(connection.status))
        idle.append(connection)

    tasks: set[asyncio.Task[None]] = set()
    sent, started = 0, time.perf_counter()
    while (passed := time.perf_counter() - started) < seconds:
        while sent < passed * rate:
            sent += 1
            task = asyncio.create_task(ask())
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.sleep(0.001)
    await asyncio.gather(*tasks)
    for connection in idle:
        connection.close()
    return outcome


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--times", type=float, default=5.0)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        stubs() as port,
        gateway(port, folder, STEELYARD_MAX_CONCURRENCY=str(PLACES), STEELYARD_LOG_LEVEL="warning") as served,
    ):
        url = f"{served.url}/v1/inspect"
        asyncio.run(load(url, BODY, 50, PLACES))
        peak = 300 / asyncio.run(_timed(url, 300))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            outcome = runner.run(flood(url, served.process.pid, options.times * peak, options.seconds))
    goodput = len(outcome.answered) / options.seconds
    print(
        f"peak {peak:.0f} requests/s; at {options.times:g} times that: goodput {goodput:.0f}/s "
        f"({100 * goodput / peak:.0f} %), shed {len(outcome.shed)} in {_percentiles(outcome.shed)}, in the gateway's "
        f"processor time {_percentiles(outcome.shed_processor)}, other {outcome.other[:5]}"
    )


def _percentiles(seconds: list[float]) -> str:
    ordered = sorted(1000 * one for one in seconds) or [0.0]
    return f"p50 {statistics.median(ordered):.0f} ms, p99 {ordered[int(0.99 * (len(ordered) - 1))]:.0f} ms"


def _processor_s(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2)  # the clock of another process, as clock_getcpuclockid(3) makes it


async def _timed(url: str, requests: int) -> float:
    started = time.perf_counter()
    await load(url, BODY, requests, PLACES)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
