"""A real dataprep process over a real store, what its clients were told, and the oracle that compares both.

The oracle knows nothing of how ingestion works: it remembers for each name what was sent and what was acknowledged,
and reads the store's file with the reader that retrieval uses.
"""

import asyncio
import contextlib
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import requests

from steelyard_store.embedded import EmbeddedReader, audit
from steelyard_store.errors import StoreNotInitialised
from steelyard_store.records import Filter
from tests.faults.ingestion_embedder import EmbedderDouble, vector_of
from tests.harness.processes import ServiceProcess, start

PUBLIC = Filter(["public"])
_TIMEOUT_S = 60
_WORDS = [
    "balance",
    "load",
    "weight",
    "beam",
    "pivot",
    "counterpoise",
    "scale",
    "pan",
    "notch",
    "hook",
    "gauge",
    "brass",
    "iron",
    "chain",
    "lever",
]


@dataclass
class History:
    """One name: what it may stand for now. None is "no such document".

    `sent` are the contents that were sent after the last acknowledged one and not acknowledged themselves: each of them
    may have been committed when the process died, or not.
    """

    acknowledged: str | None = None
    sent: list[str | None] = field(default_factory=list)

    def possible(self) -> set[str | None]:
        return {self.acknowledged, *self.sent}


@dataclass
class Lab:
    """Starts, asks and kills dataprep. `command` replaces `python -m steelyard_dataprep` (for planted defects)."""

    folder: Path
    embedder: EmbedderDouble
    settings: dict[str, str] = field(default_factory=dict)
    command: Sequence[str] | None = None
    store_folder: Path | None = None
    service: ServiceProcess | None = None
    told: dict[str, History] = field(default_factory=dict)

    @property
    def store(self) -> Path:
        return (self.store_folder or self.folder) / "store.db"

    def environment(self) -> dict[str, str]:
        return {
            "STORE_PATH": str(self.store),
            "EMBEDDING_URL": self.embedder.url,
            "CHUNK_MAX_TOKENS": "32",
            **self.settings,
        }

    def start(self) -> ServiceProcess:
        self.service = start("dataprep", self.environment(), self.command)
        return self.service

    def kill(self) -> None:
        """kill -9, also of what has died by itself."""
        if self.service is not None:
            self.service.kill()
            self.service = None

    def send(self, name: str, text: str, **fields: str) -> requests.Response | None:
        """Send one file and note what was told about it; None when the process died before it answered."""
        history = self.told.setdefault(name, History())
        history.sent.append(text)
        reply = self._post("/v1/dataprep/ingest", files=[("files", (name, text.encode()))], data=fields)
        if reply is not None and reply.status_code == 200:
            history.acknowledged, history.sent = text, []
        return reply

    def delete(self, name: str) -> requests.Response | None:
        history = self.told.setdefault(name, History())
        history.sent.append(None)
        reply = self._post("/v1/dataprep/delete", json={"file_path": name})
        if reply is not None and reply.status_code in (200, 404):
            history.acknowledged, history.sent = None, []
        return reply

    def _post(self, path: str, **content: object) -> requests.Response | None:
        assert self.service is not None
        with contextlib.suppress(requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
            return requests.post(self.service.url + path, timeout=_TIMEOUT_S, **content)  # type: ignore[arg-type]
        return None

    def resend_unacknowledged(self) -> None:
        """What a client does after an outage: send again whatever it was not told about."""
        for name, history in self.told.items():
            if history.sent:
                wanted = history.sent[-1]
                reply = self.delete(name) if wanted is None else self.send(name, wanted)
                assert reply is not None, f"dataprep died of {name} without being killed"
                assert reply.status_code in (200, 404), reply.text

    def violations(self) -> list[str]:
        """Everything in the store's file that contradicts what was told; an empty list is what all tests want."""
        return asyncio.run(violations(self.store, self.told))


async def violations(store: Path, told: dict[str, History]) -> list[str]:
    """Compare the store at `store` with what its clients were told."""
    found: list[str] = []
    try:
        found += [f"audit: {finding}" for finding in audit(store)]
    except StoreNotInitialised:
        # A process that was killed before it had created its store.
        return [f"lost: {name}" for name, history in told.items() if None not in history.possible()]
    async with EmbeddedReader(store) as reader:
        page = await reader.documents(PUBLIC, limit=1000)
        assert page.next_after is None
        names = Counter(one.source for one in page.documents)
        found += [f"duplicate: {name} is there {times} times" for name, times in names.items() if times > 1]
        found += [f"invented: {name} was never sent" for name in names if name not in told]
        for name, history in told.items():
            if name not in names and None not in history.possible():
                found.append(f"lost: {name} was acknowledged and is not there")
        for one in page.documents:
            history = told.get(one.source, History())
            document = await reader.document(one.document_id, PUBLIC)
            chunks = await reader.document_chunks(one.document_id, PUBLIC)
            assert document is not None
            if document.text not in history.possible():
                found.append(f"wrong content: {one.source}")
            if len(chunks) != one.chunk_count or {chunk.revision for chunk in chunks} != {document.revision}:
                found.append(f"half: {one.source} has {len(chunks)} of {one.chunk_count} chunks")
            seen = bytearray(len(document.text))
            for chunk in chunks:
                seen[chunk.char_start : chunk.char_end] = b"\1" * (chunk.char_end - chunk.char_start)
                if document.text[chunk.char_start : chunk.char_end] != chunk.text:
                    found.append(f"span: chunk {chunk.ordinal} of {one.source} is not its span")
            missing = [char for char, hit in zip(document.text, seen, strict=True) if not hit and not char.isspace()]
            if missing:
                found.append(f"half: {len(missing)} characters of {one.source} are in no chunk")
            vectors = await reader.embeddings([chunk.chunk_id for chunk in chunks], PUBLIC)
            for chunk in chunks:
                vector = vectors.get(chunk.chunk_id)
                if vector is None or not np.allclose(vector, vector_of(chunk.text), atol=1e-6):
                    found.append(f"vector: chunk {chunk.ordinal} of {one.source} has none, or another one's")
    return found


def text_of(number: int, version: int, paragraphs: int = 6) -> str:
    """A text of several chunks in which every line names its document and its version."""
    rng = random.Random(f"{number}/{version}")
    return "\n\n".join(
        f"D{number} V{version} P{index}: {' '.join(rng.choices(_WORDS, k=14))}." for index in range(paragraphs)
    )


def defective(defect: str) -> list[str]:
    """The command of a dataprep with a planted defect."""
    return [sys.executable, "-m", "tests.faults.ingestion_defects", defect]
