"""The other process of the concurrency tests: ``python actor.py watch|publish STORE ADDRESS``.

``watch`` reads until its standard input ends and prints a line for each new set of revisions that it saw; a mixture
of revisions ends it with a traceback. ``publish`` replaces documents until it is killed, and prints a line when a
revision is acknowledged.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading

import numpy as np

from steelyard_store import ChunkReader, ChunkWriter
from tests.conformance.store.harness import STORES
from tests.conformance.store.samples import DIMENSION, MODEL, OPEN, Float32, Publication, publication

DOCUMENTS = 3
MOST_CHUNKS = 6


def flip(document_id: str, number: int) -> Publication:
    """Revision ``number`` of a document: its count of chunks, texts and vectors all say which one it is."""
    count = 2 + number % (MOST_CHUNKS - 1)
    return publication(
        document_id,
        [f"flip {number} part {part}" for part in range(count)],
        revision=f"r{number}",
        matrix=flip_vectors(number, count),
    )


def flip_vectors(number: int, count: int) -> Float32:
    """Vectors whose first two values encode the revision and the position."""
    matrix = np.ones((count, DIMENSION), dtype=np.float32)
    matrix[:, 0] = number + 1
    matrix[:, 1] = np.arange(count) + 1
    return matrix


async def observe(reader: ChunkReader) -> dict[str, str]:
    """Read everything in every way; return the revision of each document.

    Raises:
        AssertionError: one call showed parts of two revisions, or not all of one.
    """
    query = np.ones(DIMENSION, dtype=np.float32)
    revisions = {}
    for hits in (
        await reader.search_vector(query, 1_000, OPEN),
        await reader.search_lexical("flip part", 1_000, OPEN),
    ):
        for document_id in {hit.chunk.document_id for hit in hits}:
            chunks = [hit.chunk for hit in hits if hit.chunk.document_id == document_id]
            chunks.sort(key=lambda chunk: chunk.ordinal)
            number = int(chunks[0].revision.removeprefix("r"))
            assert chunks == flip(document_id, number).chunks, chunks
            revisions[document_id] = chunks[0].revision
    for document_id in revisions:
        chunks = await reader.document_chunks(document_id, OPEN)
        assert chunks == flip(document_id, int(chunks[0].revision.removeprefix("r"))).chunks, chunks
        wanted = [f"{document_id}#{part}" for part in range(MOST_CHUNKS)]
        found = await reader.embeddings(wanted, OPEN)
        number = int(next(iter(found.values()))[0]) - 1
        assert np.array_equal(np.stack(list(found.values())), flip_vectors(number, len(found))), found
        assert len(found) == len(flip(document_id, number).chunks), found
        document = await reader.document(document_id, OPEN)
        assert document is not None
        assert document == flip(document_id, int(document.revision.removeprefix("r"))).document
    return revisions


async def watch(reader: ChunkReader) -> None:
    """Observe until standard input ends."""
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    last: dict[str, str] = {}
    while not ended.is_set():
        seen = await observe(reader)
        if seen != last:
            print(seen, flush=True)
        last = seen
    await reader.close()


async def publish(writer: ChunkWriter) -> None:
    """Replace documents for ever."""
    for number in itertools.count(1):
        for document in range(DOCUMENTS):
            await writer.publish(*flip(f"d{document}", number).args)
            print(f"d{document}", number, flush=True)


def main() -> None:
    """Play one part."""
    part, store, address = sys.argv[1:]
    place = STORES[store].at(address)
    asyncio.run(watch(place.reader(MODEL)) if part == "watch" else publish(place.writer()))


if __name__ == "__main__":
    main()
