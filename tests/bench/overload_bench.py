"""Goodput and shedding when a gateway gets five times the requests that it can serve, over stub neighbours.

    python -m tests.bench.overload_bench [--seconds 10] [--times 5]

The load is open: requests leave at their own rate, whether or not earlier ones were answered. How long a refusal takes
is told twice: by the clock, and in the gateway's processor time, which is what it takes where the gateway has a core of
its own.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from dataclasses import dataclass, field

import aiohttp

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


async def flood(url: str, pid: int, rate: float, seconds: float) -> Outcome:
    """Send `rate` requests a second for `seconds` to the gateway of process `pid`."""
    outcome = Outcome()

    async def ask(session: aiohttp.ClientSession) -> None:
        started, before = time.perf_counter(), _processor_s(pid)
        try:
            async with session.post(url, json=BODY) as reply:
                await reply.read()
                took = time.perf_counter() - started
                if reply.status == 200:
                    outcome.answered.append(took)
                elif reply.status == 503 and "Retry-After" in reply.headers:
                    outcome.shed.append(took)
                    outcome.shed_processor.append(_processor_s(pid) - before)
                else:
                    outcome.other.append(str(reply.status))
        except aiohttp.ClientError as error:
            outcome.other.append(type(error).__name__)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        tasks: list[asyncio.Task[None]] = []
        started = time.perf_counter()
        while (passed := time.perf_counter() - started) < seconds:
            while len(tasks) < passed * rate:
                tasks.append(asyncio.create_task(ask(session)))
            await asyncio.sleep(0.001)
        await asyncio.gather(*tasks)
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
        outcome = asyncio.run(flood(url, served.process.pid, options.times * peak, options.seconds))
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
