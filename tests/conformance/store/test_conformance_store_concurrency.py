"""Readers and writers in other threads and processes, and writers that are killed."""

from __future__ import annotations

import asyncio
import random
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.conformance.store import actor
from tests.conformance.store.harness import Opened
from tests.conformance.store.samples import MODEL, OPEN

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
KILLS = 10


@asynccontextmanager
async def other_process(part: str, kind: str, store: Opened) -> AsyncIterator[Process]:
    """Run the actor for the block; it does not outlive it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", actor.__name__, part, kind, store.place.address),
        cwd=ROOT,
        stdin=PIPE if part == "watch" else DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def test_readers_in_this_and_other_processes_never_see_a_mixture_during_many_flips(
    store: Opened, kind: str
) -> None:
    for document in range(actor.DOCUMENTS):
        await store.publish(actor.flip(f"d{document}", 0))
    done = asyncio.Event()
    every = store.place.flips // 10

    async def watch_here() -> int:
        seen = set()
        while not done.is_set():
            seen.add(str(await actor.observe(store.reader)))
        return len(seen)

    async with AsyncExitStack() as stack:
        watchers = [await stack.enter_async_context(other_process("watch", kind, store)) for _ in range(2)]
        async with asyncio.TaskGroup() as group:
            here = [group.create_task(watch_here()) for _ in range(3)]
            distinct = [0] * len(watchers)
            for number in range(1, store.place.flips + 1):
                await store.writer.publish(*actor.flip(f"d{number % actor.DOCUMENTS}", number).args)
                if number % every == 0:  # wait until everyone saw something new: a reader that lags proves nothing
                    for position, watcher in enumerate(watchers):
                        assert watcher.stdout is not None
                        line = await watcher.stdout.readline()
                        assert line, (await watcher.communicate(b""))[1].decode()
                        distinct[position] += 1
            done.set()
        for position, watcher in enumerate(watchers):
            output, errors = await watcher.communicate(b"")
            assert watcher.returncode == 0, errors.decode()
            distinct[position] += len(output.splitlines())
    assert min(*distinct, *(task.result() for task in here)) >= store.place.flips // every


async def test_a_writer_killed_at_any_moment_leaves_whole_documents_and_loses_nothing_acknowledged(
    store: Opened, kind: str
) -> None:
    rng = random.Random(1)
    for round_number in range(KILLS):
        async with other_process("publish", kind, store) as writer:
            assert writer.stdout is not None
            lines = [await writer.stdout.readline() for _ in range(rng.randint(1, 12))]
            await asyncio.sleep(rng.uniform(0, 0.02))  # not to wait for anything: to hit any moment of a publication
            writer.kill()
            output, errors = await writer.communicate()
        lines += [line for line in output.splitlines(keepends=True) if line.endswith(b"\n")]
        acknowledged = {document: int(number) for document, number in (line.decode().split() for line in lines)}
        assert acknowledged, errors.decode()
        reader = store.place.reader(MODEL)
        revisions = await actor.observe(reader)
        assert len(revisions) == (await reader.check()).documents
        for document, number in acknowledged.items():
            # One publication can have been committed without its acknowledgement having been read.
            assert int(revisions[document].removeprefix("r")) in {number, number + 1}, (round_number, revisions)
        await reader.close()
        for document in list(revisions):
            await store.writer.delete(document)
        assert (await store.reader.documents(OPEN)).documents == ()
