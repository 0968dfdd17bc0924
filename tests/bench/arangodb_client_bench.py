"""Measure what a query of the ArangoDB store costs its client, with and without vectors.

    python -m tests.bench.arangodb_client_bench [--json]

CPU is that of this process alone; the server is `tests/arangosim` in a process of its own, a test tool whose own time
says nothing about ArangoDB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np

from steelyard_store import ModelIdentity
from steelyard_store.arangodb import ArangoAddress, ArangoReader, ArangoWriter
from tests.bench.store_bench import ALL, publications

CHUNKS, DIMENSION, RUNS = 400, 384, 60
MODEL = ModelIdentity("bench", "r1", DIMENSION)


async def measure(address: ArangoAddress, runs: int) -> dict[str, float]:
    """Milliseconds of CPU a call, by what is asked."""
    writer = ArangoWriter(address)
    await writer.initialise(MODEL)
    rng = np.random.default_rng(1)
    ids: list[str] = []
    vectors = []
    for document, chunks, rows in publications(rng, CHUNKS, DIMENSION):
        await writer.publish(document, chunks, rows, MODEL)
        ids += [chunk.chunk_id for chunk in chunks]
        vectors.append(rows)
    await writer.close()
    query = np.concatenate(vectors)[7]
    reader = ArangoReader(address, model=MODEL)
    asked: dict[str, Callable[[], Awaitable[Any]]] = {
        "search_vector, k=20": lambda: reader.search_vector(query, 20, ALL),
        "chunks, 20 ids": lambda: reader.chunks(ids[:20], ALL),
        "embeddings, 20 ids": lambda: reader.embeddings(ids[:20], ALL),
        "embeddings, 100 ids": lambda: reader.embeddings(ids[:100], ALL),
    }
    found = {}
    for name, call in asked.items():
        await call()
        before = time.process_time()
        for _ in range(runs):
            await call()
        found[name] = 1000 * (time.process_time() - before) / runs
    await reader.close()
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    command = [sys.executable, "-m", "tests.arangosim", "--password", "bench"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().split()[-1]
            address = ArangoAddress(urls=(url,), database="bench", username="root", password="bench")
            found = asyncio.run(measure(address, options.runs))
        finally:
            server.terminate()
    if options.json:
        print(json.dumps({"runs": options.runs, "client_cpu_ms": found}))
        return
    for name, cpu in found.items():
        print(f"{name:<22} {cpu:6.2f} ms of client CPU (n={options.runs})")


if __name__ == "__main__":
    main()
