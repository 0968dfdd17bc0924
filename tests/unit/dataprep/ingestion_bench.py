"""An ingestion over a real store, with an embedding service and a parser that do as a test says."""

from pathlib import Path
from typing import Any

import numpy as np

from steelyard_contracts.dataprep import FileResult
from steelyard_contracts.documents import TokenUsage
from steelyard_contracts.embeddings import EmbeddingData, EmbeddingRequest, EmbeddingResponse
from steelyard_contracts.vectors import Vector
from steelyard_dataprep.catalogue import Catalogue
from steelyard_dataprep.embedding import ChunkMeasure
from steelyard_dataprep.ingestion import Ingestion, Source
from steelyard_dataprep.intakes import Intake, Intakes
from steelyard_dataprep.parsing import ParseError, ParseLimits, parse
from steelyard_dataprep.preparation.prepared import ChunkSize, PreparedDocument, prepare
from steelyard_dataprep.quarantine import Quarantine
from steelyard_runtime.blocking import Workers
from steelyard_store.embedded import EmbeddedReader, EmbeddedWriter
from steelyard_store.records import Filter

DIMENSION = 8
TEXT = "# Seals\n\nThe seal is ZQ-77.\n\n# Bolts\n\nThe bolts take 24 Nm.\n"


def vector_of(text: str) -> list[float]:
    """A unit-free vector that depends on the text alone."""
    return np.random.default_rng(len(text) * 1000 + sum(map(ord, text)) % 997).normal(size=DIMENSION).tolist()


class FakeEmbedding:
    """The embedding service as ingestion sees it; `spoil` changes its replies."""

    def __init__(self) -> None:
        self.model = {"id": "fake", "revision": "1", "dimension": DIMENSION, "tokenizer": "words"}
        self.max_tokens: Any = 64
        self.batches: list[list[str]] = []
        self.spoil = lambda data: data

    async def get_json(self, _path: str, _timeout_s: float) -> Any:
        return {"limits": {"max_tokens": self.max_tokens}, "models": {"embedding": self.model}}

    async def post(
        self, _path: str, request: EmbeddingRequest, _reply: type[EmbeddingResponse], *, share: float
    ) -> EmbeddingResponse:
        del share
        texts = list(request.input)
        self.batches.append(texts)
        data = [
            EmbeddingData(index=i, embedding=Vector.from_floats(vector_of(text)).to_base64())
            for i, text in enumerate(texts)
        ]
        return EmbeddingResponse(model="fake", data=self.spoil(data), usage=TokenUsage(prompt_tokens=0, total_tokens=0))


class InProcess:
    """Prepares files here. `error` is raised instead, as many `times` as it says; `started` counts."""

    def __init__(self, size: ChunkSize) -> None:
        self.size = size
        self.error: ParseError | None = None
        self.times = 1000
        self.started = 0

    async def prepare(self, name: str, data: bytes, *, text_column: str | None = None) -> PreparedDocument:
        self.started += 1
        if self.error is not None and self.started <= self.times:
            raise self.error
        return prepare(parse(name, data, text_column=text_column), lambda text: len(text.split()), self.size)


class Bench:
    """An ingestion over a real store in a folder of its own."""

    def __init__(self, path: Path, max_tokens: int = 40) -> None:
        self.embedding = FakeEmbedding()
        self.reader = EmbeddedReader(path)
        self.writer = EmbeddedWriter(path)
        self.workers = Workers("test", threads=1)
        self.intakes = Intakes()
        self.parser = InProcess(ChunkSize(max_tokens, 0))
        self.ingestion = Ingestion(
            self.reader,
            self.writer,
            self.embedding,  # type: ignore[arg-type]  # it has the two methods that ingestion calls
            self.workers,
            self.parser,
            self.parser.size,
            ChunkMeasure("words", max_tokens + 2),
            self.intakes,
            Quarantine(path.with_name("quarantine"), ParseLimits()),
            120.0,
        )
        self.catalogue = Catalogue(self.reader, self.writer, self.intakes, ("public",))

    async def take_in(
        self, name: str, data: bytes, text_column: str | None = None, read_as: str | None = None
    ) -> FileResult:
        source = Source(name, data, "public", text_column, read_as)
        return await self.ingestion.take_in(source, await self.accept(name))

    async def accept(self, name: str) -> Intake:
        (intake,) = await self.ingestion.accept([name], "public")
        return intake

    async def close(self) -> None:
        await self.reader.close()
        await self.writer.close()
        self.workers.close()

    async def texts(self) -> list[str]:
        listed = (await self.reader.documents(Filter(["public"]))).documents
        found = [await self.reader.document_chunks(one.document_id, Filter(["public"])) for one in listed]
        return [chunk.text for chunks in found for chunk in chunks]
