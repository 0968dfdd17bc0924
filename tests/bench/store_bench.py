"""Measure the embedded store on synthetic chunks, next to plain searches of numpy and faiss in the same run.

    python tests/bench/store_bench.py --chunks 100000 --dimension 384 [--json]

faiss is left out, and said to be, where it is not installed (requirements/bench.lock has it). CPU is that of the whole
process, all threads together. Vectors are random unit vectors and words follow Zipf's law, so times are realistic and
relevance is meaningless.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard_store import Chunk, Document, Filter, ModelIdentity
from steelyard_store.embedded import EmbeddedReader, EmbeddedWriter

Float32 = NDArray[np.float32]

CHUNKS_PER_DOCUMENT = 20
WORDS_PER_CHUNK = 120
VOCABULARY = 50_000
FREQUENCIES = 1 / np.arange(1, VOCABULARY + 1)
FREQUENCIES /= FREQUENCIES.sum()
SCOPES = 10
K = 20
ALL = Filter({f"scope-{number}" for number in range(SCOPES)})
ONE = Filter({"scope-3"})


def word(rank: int) -> str:
    """The word of a frequency rank, in letters only: common words are short, as in real text."""
    letters = ""
    while True:
        rank, letter = divmod(rank, 26)
        letters += chr(ord("a") + letter)
        if rank == 0:
            return letters


def words(rng: np.random.Generator, count: int) -> str:
    """Draw words whose frequencies follow Zipf's law."""
    return " ".join(word(rank) for rank in rng.choice(VOCABULARY, size=count, p=FREQUENCIES))


def publications(
    rng: np.random.Generator, chunks: int, dimension: int
) -> Iterator[tuple[Document, list[Chunk], Float32]]:
    """Yield whole documents of ``CHUNKS_PER_DOCUMENT`` chunks until there are ``chunks``."""
    for number in range(chunks // CHUNKS_PER_DOCUMENT):
        texts = [words(rng, WORDS_PER_CHUNK) for _ in range(CHUNKS_PER_DOCUMENT)]
        text = "\n".join(texts)
        document = Document(
            document_id=f"document-{number:06}",
            revision="1",
            source=f"file-{number}.txt",
            title=f"File {number}",
            scope=f"scope-{number % SCOPES}",
            media_type="text/plain",
            text=text,
            content_sha256=hashlib.sha256(text.encode()).hexdigest(),
            size_bytes=len(text),
            created_at="2026-01-01T00:00:00+00:00",
        )
        parts, start = [], 0
        for ordinal, part in enumerate(texts):
            parts.append(
                Chunk(
                    chunk_id=f"{document.document_id}#{ordinal}",
                    document_id=document.document_id,
                    revision="1",
                    ordinal=ordinal,
                    text=part,
                    source=document.source,
                    title=document.title,
                    section="",
                    char_start=start,
                    char_end=start + len(part),
                    tokens=WORDS_PER_CHUNK,
                    scope=document.scope,
                )
            )
            start += len(part) + 1
        yield document, parts, rng.standard_normal((len(parts), dimension), dtype=np.float32)


def resident_mib() -> float:
    """Resident memory of this process now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


async def timed_ms(call: Callable[[int], Awaitable[object]], runs: int) -> list[float]:
    """Durations of ``runs`` calls in milliseconds."""
    durations = []
    for run in range(runs):
        started = time.perf_counter()
        await call(run)
        durations.append((time.perf_counter() - started) * 1e3)
    return durations


def numpy_top(units: Float32, query: Float32, k: int) -> NDArray[np.intp]:
    """The plain search to compare with: one float32 product, no filter, no text, no identity."""
    scores = units @ query
    best = np.argpartition(scores, -k)[-k:]
    return best[np.argsort(-scores[best])]


class Stopwatch:
    """Wall-clock and CPU milliseconds of each lap."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    @contextmanager
    def lap(self) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall.append((time.perf_counter() - wall) * 1e3)
        self.cpu.append((time.process_time() - cpu) * 1e3)

    def medians(self, name: str) -> dict[str, float]:
        return {f"{name}_ms": statistics.median(self.wall), f"{name}_cpu_ms": statistics.median(self.cpu)}


def faiss_index(units: Float32) -> Any:
    """An exact index of faiss over the same rows, None where faiss is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    index = faiss.IndexFlatIP(units.shape[1])
    index.add(units)
    return index


async def measure(path: Path, chunks: int, dimension: int, runs: int) -> dict[str, float]:
    """Build a store at ``path`` and return every figure, times in milliseconds (medians)."""
    rng = np.random.default_rng(7)
    model = ModelIdentity("bench", "1", dimension)
    vectors: list[Float32] = []
    busy = 0.0
    async with EmbeddedWriter(path) as writer:
        await writer.initialise(model)
        for document, parts, matrix in publications(rng, chunks, dimension):
            vectors.append(matrix)
            started = time.perf_counter()
            await writer.publish(document, parts, matrix, model)
            busy += time.perf_counter() - started
        raw = np.concatenate(vectors)
        units = raw / np.linalg.norm(raw, axis=1, keepdims=True)
        del vectors, raw

        queries = rng.standard_normal((runs, dimension), dtype=np.float32)
        texts = [words(rng, 6) for _ in range(runs)]
        rare = [" ".join(word(rank) for rank in rng.integers(1000, VOCABULARY, size=4)) for _ in range(runs)]
        ids = [f"document-{n // CHUNKS_PER_DOCUMENT:06}#{n % CHUNKS_PER_DOCUMENT}" for n in range(len(units))]
        picks = [[ids[at] for at in rng.choice(len(ids), size=100, replace=False)] for _ in range(runs)]
        before = resident_mib()
        async with EmbeddedReader(path, model=model) as reader:
            load = (await timed_ms(lambda _: reader.warm(), 1))[0]
            memory = resident_mib() - before
            plain, ours, theirs = Stopwatch(), Stopwatch(), Stopwatch()
            index = faiss_index(units)
            for run in range(runs):  # interleaved, so that all meet the same machine
                unit = queries[run] / np.linalg.norm(queries[run])
                with plain.lap():
                    expected = numpy_top(units, unit, K)
                with ours.lap():
                    hits = await reader.search_vector(queries[run], K, ALL)
                if index is not None:
                    with theirs.lap():
                        index.search(unit[np.newaxis], K)
                if [hit.chunk.chunk_id for hit in hits] != [ids[at] for at in expected]:
                    raise AssertionError(f"query {run}: the store and numpy disagree")
            scoped = await timed_ms(lambda run: reader.search_vector(queries[run], K, ONE), runs)
            lexical = await timed_ms(lambda run: reader.search_lexical(texts[run], K, ALL), runs)
            lexical_rare = await timed_ms(lambda run: reader.search_lexical(rare[run], K, ALL), runs)
            twenty = await timed_ms(lambda run: reader.embeddings(picks[run][:20], ALL), runs)
            hundred = await timed_ms(lambda run: reader.embeddings(picks[run], ALL), runs)
            refreshed = []
            for number, (document, parts, matrix) in enumerate(publications(rng, CHUNKS_PER_DOCUMENT * 10, dimension)):
                await writer.delete(document.document_id)
                await writer.publish(document, parts, matrix, model)
                started = time.perf_counter()
                await reader.search_vector(queries[number % runs], K, ALL)
                refreshed.append((time.perf_counter() - started) * 1e3)
    return {
        "chunks": len(units),
        "dimension": dimension,
        "build_s": busy,
        "publish_chunks_per_s": len(units) / busy,
        "publish_document_ms": busy * 1e3 / (len(units) / CHUNKS_PER_DOCUMENT),
        "disk_mib": sum(file.stat().st_size for file in path.parent.iterdir()) / 2**20,
        "load_ms": load,
        "memory_mib": memory,
        **plain.medians("numpy_search"),
        **(theirs.medians("faiss_search") if theirs.wall else {}),
        **ours.medians("vector_search"),
        "vector_search_one_scope_ms": statistics.median(scoped),
        "lexical_search_common_words_ms": statistics.median(lexical),
        "lexical_search_rare_words_ms": statistics.median(lexical_rare),
        "embeddings_20_ms": statistics.median(twenty),
        "embeddings_100_ms": statistics.median(hundred),
        "search_after_publication_ms": statistics.median(refreshed),
    }


def main() -> None:
    """Run the measurement and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--runs", type=int, default=50, help="queries per figure")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = asyncio.run(measure(Path(directory) / "store.db", options.chunks, options.dimension, options.runs))
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:34} {value:12,.2f}")
    if "faiss_search_ms" not in figures:
        print("faiss is not installed: not compared")


if __name__ == "__main__":
    main()
