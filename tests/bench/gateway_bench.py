"""Gateway CPU per request and per streamed token, and requests per second, over stub neighbours (4 hops, 64 tokens).

    python -m tests.bench.gateway_bench [--json] [--requests 300] [--concurrency 1 32 128]

CPU is that of the gateway's process alone, from the operating system's accounting.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aiohttp

from tests.bench.gateway_stubs import TOKENS
from tests.harness.processes import start, wait_ready

QUESTION = {"messages": [{"role": "user", "content": "Which seal is approved for pump 0?"}], "model": "steelyard"}


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(url: str, body: dict[str, object], requests: int, concurrency: int) -> list[float]:
    """Send `requests` with `concurrency` at a time; returns the seconds each took. Fails on any status but 200."""
    waiting = iter(range(requests))
    times: list[float] = []

    async def worker(session: aiohttp.ClientSession) -> None:
        for _ in waiting:
            started = time.perf_counter()
            async with session.post(url, json=body) as reply:
                text = await reply.read()
                if reply.status != 200 or (body.get("stream") and b"[DONE]" not in text):
                    raise RuntimeError(f"status {reply.status}: {text[:200]!r}")
            times.append(time.perf_counter() - started)

    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(worker(session) for _ in range(concurrency)))
    return times


def measure(url: str, pid: int, body: dict[str, object], requests: int, concurrency: int) -> dict[str, float]:
    """One cell of the table."""
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


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 32, 128])
    options = parser.parse_args()
    stubs = subprocess.Popen([sys.executable, "-m", "tests.bench.gateway_stubs"], stdout=subprocess.PIPE, text=True)
    assert stubs.stdout is not None
    url = f"http://127.0.0.1:{stubs.stdout.readline().strip()}"
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        gateway = start(
            "chatqna",
            {
                "EMBEDDING_URL": url,
                "RETRIEVER_URL": url,
                "RERANKER_URL": url,
                "LLM_URL": url,
                "LEDGER_PATH": f"{folder}/ledgers.db",
                "STEELYARD_MAX_CONCURRENCY": "1024",
                "AUTH": "off",
            },
        )
        try:
            wait_ready(gateway)
            for name, fields in {
                "inspect, slice": {"path": "/v1/inspect", "body": {"messages": "q", "reranking_strategy": "slice"}},
                "inspect, adaptive": {
                    "path": "/v1/inspect",
                    "body": {"messages": "q", "reranking_strategy": "adaptive"},
                },
                "chat, one piece": {
                    "path": "/v1/chat/completions",
                    "body": {**QUESTION, "reranking_strategy": "slice"},
                },
                "chat, streamed": {
                    "path": "/v1/chat/completions",
                    "body": {**QUESTION, "reranking_strategy": "slice", "stream": True},
                },
            }.items():
                for concurrency in options.concurrency:
                    rows[f"{name}, {concurrency} at a time"] = measure(
                        gateway.url + str(fields["path"]),
                        gateway.process.pid,
                        dict(fields["body"]),
                        options.requests,
                        concurrency,
                    )
        finally:
            gateway.stop()
            stubs.terminate()
            stubs.wait()
    if options.json:
        print(json.dumps({"tokens_per_answer": TOKENS, "rows": rows}))
        return
    for name, row in rows.items():
        print(f"{name:36} " + "  ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
