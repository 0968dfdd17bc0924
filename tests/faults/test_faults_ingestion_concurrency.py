"""Several clients and two dataprep processes at one document: one winner, no mixture, and a deletion that holds.

`INGESTION_FAULTS=full` makes 500 updates under eight readers instead of 25.
"""

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from steelyard_dataprep.identity import document_id
from steelyard_store.embedded import EmbeddedReader
from steelyard_store.records import Chunk, Filter
from tests.faults.ingestion_embedder import EmbedderDouble, vector_of
from tests.faults.ingestion_lab import PUBLIC, History, Lab, defective, text_of

UPDATES = 500 if os.environ.get("INGESTION_FAULTS") == "full" else 25
READERS = 8
NAME = "manual.txt"

pytestmark = pytest.mark.timeout(1800 if UPDATES > 25 else 300)


@pytest.fixture
def lab(tmp_path: Path, embedder: EmbedderDouble) -> Iterator[Lab]:
    made = Lab(tmp_path, embedder)
    made.start()
    yield made
    made.kill()


class Poller(threading.Thread):
    """Reads one document in every way that retrieval does, until it is told to stop; `mixtures` should stay empty."""

    def __init__(self, store: Path, versions: dict[str, str], stop: threading.Event) -> None:
        super().__init__()
        self.reads = 0
        self.seen: Counter[str] = Counter()
        self.mixtures: list[str] = []
        self._store = store
        self._versions = versions
        self._stop_asked = stop

    def run(self) -> None:
        asyncio.run(self._poll())

    async def _poll(self) -> None:
        its_id = document_id("public", NAME)
        one = Filter(["public"], document_ids=[its_id])
        async with EmbeddedReader(self._store, threads=1) as reader:
            while not self._stop_asked.is_set():
                await self._check(await reader.document_chunks(its_id, PUBLIC))
                found = await reader.search_vector(vector_of("x"), 1000, one)
                await self._check([hit.chunk for hit in found])
                # Every chunk has the document's own word.
                found = await reader.search_lexical("manual", 1000, one)
                await self._check([hit.chunk for hit in found])

    async def _check(self, chunks: list[Chunk]) -> None:
        self.reads += 1
        revisions = {chunk.revision for chunk in chunks}
        joined = "".join("".join(chunk.text.split()) for chunk in sorted(chunks, key=lambda chunk: chunk.char_start))
        if len(revisions) != 1 or joined not in self._versions:
            self.mixtures.append(f"{len(revisions)} revisions: {joined[:200]}")
            return
        self.seen[joined] += 1


def version(number: int) -> str:
    """Every paragraph says which version it is of; versions differ in length."""
    return text_of(1, number, paragraphs=2 + number % 7).replace("D1 ", "manual ")


def test_readers_see_one_version_or_the_next_and_never_a_mixture(lab: Lab) -> None:
    distinct = update_under_readers(lab, UPDATES)
    assert distinct > UPDATES / 4
    assert lab.violations() == []


def test_the_readers_see_a_planted_mixture(tmp_path: Path, embedder: EmbedderDouble) -> None:
    lab = Lab(tmp_path, embedder, command=defective("commit_chunk_by_chunk"))
    lab.start()
    try:
        with pytest.raises(AssertionError, match="revisions"):
            update_under_readers(lab, 10)
    finally:
        lab.kill()


def update_under_readers(lab: Lab, updates: int) -> int:
    """Update one document under readers, none of whom may see a mixture; return how many versions they saw."""
    texts = [version(number) for number in range(updates + 1)]
    lab.send(NAME, texts[0])
    stop = threading.Event()
    versions = {"".join(text.split()): text for text in texts}
    pollers = [Poller(lab.store, versions, stop) for _ in range(READERS)]
    for poller in pollers:
        poller.start()
    try:
        for text in texts[1:]:
            reply = lab.send(NAME, text)
            assert reply is not None
            assert reply.json()["files"][0]["status"] == "replaced"
    finally:
        stop.set()
        for poller in pollers:
            poller.join()
    assert [mixture for poller in pollers for mixture in poller.mixtures] == []
    distinct = len(set().union(*(poller.seen for poller in pollers)))
    reads = sum(poller.reads for poller in pollers)
    print(f"\n{updates} updates, {reads} reads by {READERS} readers, {distinct} versions seen, 0 mixtures")
    return distinct


def test_one_document_from_many_clients_of_two_processes_has_one_winner(lab: Lab, embedder: EmbedderDouble) -> None:
    other = Lab(lab.folder, embedder)
    other.start()
    answers: list[tuple[str, str]] = []

    def send(to: Lab, number: int) -> None:
        assert to.service is not None
        upload = [("files", (NAME, text_of(2, number).encode()))]
        reply = requests.post(f"{to.service.url}/v1/dataprep/ingest", files=upload, timeout=120)
        assert reply.status_code == 200, reply.text
        answers.append((reply.json()["files"][0]["revision"], text_of(2, number)))

    clients = [threading.Thread(target=send, args=(to, number)) for number in range(6) for to in (lab, other)]
    try:
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    finally:
        other.kill()
    assert len(answers) == len(clients)
    # Both processes name the same content alike.
    assert len({revision for revision, _ in answers}) == 6
    lab.told[NAME] = History(answers[0][1], [text for _, text in answers])
    assert lab.violations() == []


def test_a_deletion_during_ingestion_ends_deleted(lab: Lab, embedder: EmbedderDouble) -> None:
    for known in (False, True):
        if known:
            assert lab.send(NAME, version(0)).status_code == 200  # type: ignore[union-attr]
        embedder.hold()
        replies: list[requests.Response | None] = []
        client = threading.Thread(target=lambda replies=replies: replies.append(lab.send(NAME, version(1))))
        client.start()
        assert embedder.waiting.wait(60)
        assert lab.service is not None
        deleted = requests.post(f"{lab.service.url}/v1/dataprep/delete", json={"file_path": NAME}, timeout=60)
        assert (deleted.status_code, len(deleted.json()["deleted"])) == (200, 1)
        embedder.release()
        client.join()
        (reply,) = replies
        assert reply is not None
        assert (reply.status_code, reply.json()["files"][0]["error"]["code"]) == (409, "deleted_meanwhile")
        listed = requests.post(f"{lab.service.url}/v1/dataprep/get", json={}, timeout=60).json()
        assert listed["documents"] == []
    lab.told.clear()
    assert lab.violations() == []


def test_a_deletion_by_another_process_during_ingestion_ends_deleted(lab: Lab, embedder: EmbedderDouble) -> None:
    other = Lab(lab.folder, embedder)
    other.start()
    try:
        assert lab.send(NAME, version(0)).status_code == 200  # type: ignore[union-attr]
        assert lab.service is not None
        embedder.hold()
        # One that is being embedded, and behind it in the line one that was accepted.
        jobs = []
        for number in (1, 2):
            upload = [("files", (NAME, version(number).encode()))]
            url = f"{lab.service.url}/v1/dataprep/ingest"
            reply = requests.post(url, files=upload, data={"wait": "false"}, timeout=60)
            assert reply.status_code == 202
            jobs.append(f"{lab.service.url}/v1/dataprep/jobs/{reply.json()['job_id']}")
        assert embedder.waiting.wait(60)
        assert other.delete(NAME).status_code == 200  # type: ignore[union-attr]
        embedder.release()
        for job in jobs:
            while (report := requests.get(job, timeout=60).json())["state"] == "running":
                pass
            assert report["files"][0]["error"]["code"] == "deleted_meanwhile"
        # Sent again, it is there again.
        assert lab.send(NAME, version(3)).status_code == 200  # type: ignore[union-attr]
    finally:
        other.kill()
    assert lab.violations() == []


def test_the_same_content_again_is_not_embedded_again_and_does_not_touch_the_store(
    lab: Lab, embedder: EmbedderDouble
) -> None:
    async def generation() -> int:
        async with EmbeddedReader(lab.store) as reader:
            return (await reader.check()).generation

    lab.send(NAME, version(0))
    texts, before = embedder.texts, asyncio.run(generation())
    for _ in range(3):
        reply = lab.send(NAME, version(0))
        assert reply is not None
        assert reply.json()["files"][0]["status"] == "unchanged"
    assert (embedder.texts, asyncio.run(generation())) == (texts, before)
