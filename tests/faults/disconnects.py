"""Clients that leave at any moment: how soon the model is stopped, and what is left of them.

python -m tests.faults.disconnects --count 1000        # part of `make faults`
"""

import argparse
import asyncio
import json
import os
import random
import sqlite3
import statistics
import struct
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET

from aiohttp import web

from tests.bench.gateway_stubs import EVENTS, application, served
from tests.bench.load import gateway
from tests.harness.processes import ServiceProcess

AT_ONCE = 16
_PLACES = 24
"""Requests that the gateway works on at once: fewer than the clients that leave, so that a lost place is missed."""


@dataclass
class Model:
    """A model server that talks until its client leaves; `stopped` says when that was seen, by question."""

    open: int = 0
    asked: int = 0
    stopped: dict[str, float] = field(default_factory=dict)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        question = (await request.json())["messages"][-1]["content"].rsplit("Question: ", 1)[1]
        self.open += 1
        self.asked += 1
        try:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            while True:
                for event in EVENTS:
                    await response.write(event)
                    await asyncio.sleep(0.002)
        except ConnectionError:
            return response
        finally:
            self.stopped[question] = time.monotonic()
            self.open -= 1


@dataclass
class Report:
    """What was measured. Descriptors and memory are the gateway's, after the first few clients and after all."""

    clients: int = 0
    delays_ms: list[float] = field(default_factory=list)
    descriptors: tuple[int, int] = (0, 0)
    resident_mb: tuple[float, float] = (0.0, 0.0)
    ledgers: int = 0
    left_open: int = 0
    healthy_afterwards: bool = False

    def leaks(self) -> list[str]:
        """What the clients took with them, in words."""
        before, after = self.descriptors
        found = {
            f"{self.left_open} streams of the model are open": self.left_open > 0,
            "not all places are free": not self.healthy_afterwards,
            f"{after - before} descriptors stay beyond the pooled connections": after > before + AT_ONCE,
        }
        return [words for words, so in found.items() if so]


def descriptors(process: ServiceProcess) -> int:
    return len(os.listdir(f"/proc/{process.process.pid}/fd"))  # noqa: PTH208  entries may vanish while they are looked at


def resident_mb(process: ServiceProcess) -> float:
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def request(question: str) -> bytes:
    """A streamed chat request as it goes over the wire."""
    fields = {"messages": [{"role": "user", "content": question}], "stream": True, "reranking_strategy": "slice"}
    body = json.dumps(fields)
    head = ("POST /v1/chat/completions HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json")
    return "\r\n".join((*head, f"Content-Length: {len(body)}", "", body)).encode()


async def leave(port: int, question: str, source: random.Random) -> float:
    """Ask, read for a random while or not at all, and leave with or without a farewell; returns when."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    whole = request(question)
    writer.write(whole[: source.randrange(len(whole))] if source.random() < 0.1 else whole)
    with suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(source.random() * 2):
            for _ in range(source.randrange(40)):
                await reader.read(200)
    if source.random() < 0.5:
        writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    left = time.monotonic()
    writer.transport.abort()
    return left


async def run(count: int, folder: Path, seed: int = 0) -> Report:
    """Let `count` clients leave a gateway and look at what is left."""
    model, report, source = Model(), Report(), random.Random(seed)
    async with served(application(model.chat)) as port:
        settings = {"STEELYARD_MAX_CONCURRENCY": str(_PLACES), "GROUNDEDNESS_POLICY": "flag"}
        opened = gateway(port, str(folder), **settings)
        process = await asyncio.to_thread(opened.__enter__)
        try:
            await _many(process, model, report, source, range(4 * AT_ONCE))
            before = descriptors(process), resident_mb(process)
            await _many(process, model, report, source, range(4 * AT_ONCE, count))
            report.descriptors = before[0], descriptors(process)
            report.resident_mb = before[1], resident_mb(process)
            report.left_open = model.open
            report.healthy_afterwards = await _all_places_are_free(process, model)
        finally:
            await asyncio.to_thread(opened.__exit__, None, None, None)
    with sqlite3.connect(folder / "ledgers.db") as connection:
        (report.ledgers,) = connection.execute("SELECT count(*) FROM ledgers").fetchone()
    connection.close()
    return report


async def _many(process: ServiceProcess, model: Model, report: Report, source: random.Random, numbers: range) -> None:
    port = int(process.url.rsplit(":", 1)[1])
    waiting = iter(numbers)
    left: dict[str, float] = {}

    async def client() -> None:
        for number in waiting:
            question = f"Which seal is approved for pump {number}?"
            left[question] = await leave(port, question, source)
            report.clients += 1

    await asyncio.gather(*(client() for _ in range(AT_ONCE)))
    async with asyncio.timeout(30):
        while model.open or await asyncio.to_thread(_established, process):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # the operating system has no event for it
    both = left.keys() & model.stopped.keys()
    report.delays_ms += [1000 * max(0.0, model.stopped[question] - left[question]) for question in both]


def _established(process: ServiceProcess) -> int:
    """Connections of clients that the gateway still has."""
    port = f"{int(process.url.rsplit(':', 1)[1]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(1 for row in rows if row[1].endswith(f":{port}") and row[3] == "01")


async def _all_places_are_free(process: ServiceProcess, model: Model) -> bool:
    """Whether as many requests as the gateway's model may have are let through, all at the same time."""
    port = int(process.url.rsplit(":", 1)[1])
    places = _PLACES * 3 // 4
    asked = model.asked
    connections = []
    for number in range(places):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(f"again {number}"))
        connections.append((reader, writer))
    replies = [await reader.readuntil(b"\r\n") for reader, _ in connections]
    for _, writer in connections:
        writer.transport.abort()
    return model.asked - asked == places and all(b" 200 " in reply for reply in replies)


def main() -> int:
    """Run and print; the exit status says whether something leaks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(run(options.count, Path(folder)))
    late = statistics.quantiles(report.delays_ms, n=1000)
    print(
        f"n = {report.clients} clients that left, {len(report.delays_ms)} while the model worked for them; "
        f"model stopped after p50 {late[499]:.0f} ms, p99 {late[989]:.0f} ms, at most {max(report.delays_ms):.0f} ms"
    )
    print(
        f"descriptors {report.descriptors[0]} -> {report.descriptors[1]}, resident {report.resident_mb[0]:.0f} -> "
        f"{report.resident_mb[1]:.0f} MB, streams left open {report.left_open}, ledgers {report.ledgers}, "
        f"all places free afterwards: {report.healthy_afterwards}"
    )
    for words in report.leaks():
        print(f"leak: {words}")
    return min(1, len(report.leaks()))


if __name__ == "__main__":
    raise SystemExit(main())
