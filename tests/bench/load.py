"""Putting load on a gateway and measuring what it costs; for the gateway's benchmarks."""

import asyncio
import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.bench.gateway_stubs import TOKENS
from tests.harness.processes import ServiceProcess, start, wait_ready


def cpu_seconds(pid: int) -> float:
    """User and system time so far of a process and of those that its main thread has started and that still run."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(cpu_seconds(int(child)) for child in started)


_numbers = itertools.count()


def numbered(body: dict[str, Any]) -> dict[str, Any]:
    """The body with a question that nobody has asked before, so that no count of tokens is remembered."""
    messages, number = body["messages"], next(_numbers)
    if isinstance(messages, str):
        return {**body, "messages": f"{messages} {number}"}
    return {**body, "messages": [{**messages[0], "content": f"{messages[0]['content']} {number}"}]}


async def load(url: str, body: dict[str, Any], requests: int, concurrency: int) -> list[float]:
    """Send `requests` with `concurrency` at a time; returns the seconds each took. Fails on any status but 200."""
    waiting = iter(range(requests))
    times: list[float] = []

    async def worker(session: aiohttp.ClientSession) -> None:
        for _ in waiting:
            started = time.perf_counter()
            async with session.post(url, json=numbered(body)) as reply:
                text = await reply.read()
                if reply.status != 200 or (body.get("stream") and b"[DONE]" not in text):
                    raise RuntimeError(f"status {reply.status}: {text[:200]!r}")
            times.append(time.perf_counter() - started)

    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(worker(session) for _ in range(concurrency)))
    return times


def measure(url: str, pid: int, body: dict[str, Any], requests: int, concurrency: int) -> dict[str, float]:
    """One cell of a table; CPU is that of process `pid` and its own, from the operating system's accounting."""
    asyncio.run(load(url, body, min(requests, 50), concurrency))
    before, started = cpu_seconds(pid), time.perf_counter()
    times = asyncio.run(load(url, body, requests, concurrency))
    wall, spent = time.perf_counter() - started, cpu_seconds(pid) - before
    return {
        "requests": len(times),
        "cpu_ms_per_request": round(1000 * spent / len(times), 2),
        "requests_per_s": round(len(times) / wall, 1),
        "p50_ms": round(1000 * statistics.median(times), 1),
        "p99_ms": round(1000 * statistics.quantiles(times, n=100)[98], 1),
    }


@contextmanager
def stubs(first_byte_ms: int = 0, tokens: int = TOKENS) -> Iterator[int]:
    """Stub neighbours on the port that is given."""
    command = [sys.executable, "-m", "tests.bench.gateway_stubs", str(first_byte_ms), str(tokens)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


@contextmanager
def gateway(port: int, folder: str, **settings: str) -> Iterator[ServiceProcess]:
    """A gateway whose neighbours are the stubs on `port`."""
    url = f"http://127.0.0.1:{port}"
    neighbours = dict.fromkeys(("EMBEDDING_URL", "RETRIEVER_URL", "RERANKER_URL", "LLM_URL"), url)
    served = start("chatqna", {**neighbours, "AUTH": "off", "LEDGER_PATH": f"{folder}/ledgers.db", **settings})
    try:
        wait_ready(served)
        yield served
    finally:
        served.stop()
