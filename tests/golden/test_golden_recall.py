"""The right document first: 200 documents with known answers, vectors from the real model, on both stores.

The ArangoDB store runs against the local protocol server. Its index is searched in all of its lists, where it must find
what the exact search of the embedded store finds, and in one, where it must not: else the comparison shows nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from steelyard_models.cache import locate
from steelyard_models.catalogue import load_catalogue
from steelyard_models.encoder import OnnxTextEncoder
from steelyard_store import Chunk, ChunkReader, ChunkWriter, Document, Filter, ModelIdentity
from steelyard_store.arangodb import ArangoAddress, ArangoReader, ArangoWriter
from steelyard_store.arangodb.maintenance import migrate
from steelyard_store.embedded import EmbeddedReader, EmbeddedWriter
from tests.arangosim import ArangoSim
from tests.golden.golden_documents import GoldenDocument, golden_documents

pytestmark = [pytest.mark.models, pytest.mark.timeout(900)]  # 600 searches and 200 publications on the simulator

EVERYONE = Filter({"public"})
DEPTHS = (1, 5, 20)
PASSWORD = "golden-password"
LISTS = 14
"""Of an index over 200 vectors: the whole part of their square root."""


@dataclass(frozen=True)
class Golden:
    """Documents with their vectors and those of their questions, row by row."""

    documents: list[GoldenDocument]
    vectors: NDArray[np.float32]
    questions: NDArray[np.float32]
    model: ModelIdentity

    async def publish(self, writer: ChunkWriter) -> None:
        await writer.initialise(self.model)
        for one, vector in zip(self.documents, self.vectors, strict=True):
            document = Document(
                document_id=one.document_id,
                revision="1",
                source=f"{one.document_id}.txt",
                title="",
                scope="public",
                media_type="text/plain",
                text=one.text,
                content_sha256=hashlib.sha256(one.text.encode()).hexdigest(),
                size_bytes=len(one.text),
                created_at="2026-01-01T00:00:00+00:00",
            )
            chunk = Chunk(
                chunk_id=f"{one.document_id}#0",
                document_id=one.document_id,
                revision="1",
                ordinal=0,
                text=one.text,
                source=document.source,
                title="",
                section="",
                char_start=0,
                char_end=len(one.text),
                tokens=1,
                scope="public",
            )
            await writer.publish(document, [chunk], vector[np.newaxis], self.model)

    async def rankings(self, reader: ChunkReader) -> list[list[str]]:
        """For each question the documents of the nearest chunks, best first."""
        return [
            [hit.chunk.document_id for hit in await reader.search_vector(question, max(DEPTHS), EVERYONE)]
            for question in self.questions
        ]

    def recall(self, rankings: list[list[str]]) -> dict[int, float]:
        """The share of questions whose document is among the first so many."""
        right = [one.document_id for one in self.documents]
        return {
            depth: sum(name in ranking[:depth] for name, ranking in zip(right, rankings, strict=True)) / len(right)
            for depth in DEPTHS
        }


@pytest.fixture(scope="module")
def golden() -> Golden:
    model = load_catalogue().model("all-minilm-l6-v2")
    encoder = OnnxTextEncoder(locate(model.name), threads=1, max_tokens=model.max_tokens)
    documents = golden_documents()
    vectors = encoder.embed([one.text for one in documents])
    questions = encoder.embed([one.question for one in documents])
    return Golden(documents, vectors, questions, ModelIdentity(model.name, model.revision, vectors.shape[1]))


async def _embedded(golden: Golden, path: Path) -> list[list[str]]:
    async with EmbeddedWriter(path) as writer, EmbeddedReader(path, model=golden.model) as reader:
        await golden.publish(writer)
        return await golden.rankings(reader)


async def _arangodb(golden: Golden, sim: ArangoSim) -> dict[str, list[list[str]]]:
    """Rankings of the exact search, and of the index with all of its lists probed, and one."""

    def address(n_probe: int | None = None) -> ArangoAddress:
        return ArangoAddress(
            urls=tuple(sim.urls), database="golden", username="root", password=PASSWORD, n_probe=n_probe
        )

    async with ArangoWriter(address()) as writer:
        await golden.publish(writer)
    found = {}
    async with ArangoReader(address(), model=golden.model) as reader:
        found["exact"] = await golden.rankings(reader)
    done = migrate(address(), least_chunks=len(golden.documents))
    assert done == [f"built the vector index over {len(golden.documents)} chunks in {LISTS} lists"]
    for name, n_probe in (("all lists", LISTS), ("one list", 1)):
        fallbacks: list[str] = []
        async with ArangoReader(address(n_probe), model=golden.model, on_fallback=fallbacks.append) as reader:
            assert (await reader.check()).vector_search == "approximate"
            found[name] = await golden.rankings(reader)
        if n_probe == LISTS:
            assert fallbacks == []
    return found


def test_the_right_document_is_first_on_both_stores(
    golden: Golden, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    embedded = asyncio.run(_embedded(golden, tmp_path / "store.db"))
    with ArangoSim("3.12.6", root_password=PASSWORD) as sim:
        arangodb = asyncio.run(_arangodb(golden, sim))
        probed = {binds["n_probe"] for query in sim.queries if "n_probe" in (binds := query.bind_vars)}
    recalls = {"embedded": golden.recall(embedded)}
    recalls |= {f"arangodb, {name}": golden.recall(rankings) for name, rankings in arangodb.items()}
    with capsys.disabled():
        print(f"\n{len(golden.documents)} documents, {len(golden.documents)} questions")
        for name, recall in recalls.items():
            figures = ", ".join(f"recall@{depth} {value:.3f}" for depth, value in recall.items())
            print(f"  {name:20} {figures}")
    assert recalls["embedded"][1] > 0.9
    assert recalls["embedded"][5] > 0.98
    assert recalls["embedded"][20] == 1.0
    assert arangodb["exact"] == embedded
    assert arangodb["all lists"] == embedded
    assert probed == {LISTS, 1}


def test_each_question_has_one_document(golden: Golden) -> None:
    assert len({one.document_id for one in golden.documents}) == len({one.question for one in golden.documents}) == 200
    assert len({one.text for one in golden.documents}) == 200
