"""Taking in one file: parse, cut, embed, and publish in one step, so that nothing is ever visible half done."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from steelyard_contracts.dataprep import FileError, FileResult
from steelyard_contracts.embeddings import EmbeddingData, EmbeddingRequest, EmbeddingResponse
from steelyard_contracts.enums import FileStatus, Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_runtime import logs
from steelyard_runtime.blocking import Workers
from steelyard_runtime.http import Upstream
from steelyard_store.errors import DimensionMismatch, InvalidPublication, StoreError
from steelyard_store.port import ChunkReader, ChunkWriter
from steelyard_store.records import Chunk, Document, Filter, ModelIdentity
from steelyard_store.tree import Tree

from .chunking import CHUNKER_VERSION, ChunkSpan, chunk
from .chunking.counter import TokenCounter
from .identity import chunk_id, content_hash, document_id, revision
from .outline import Outline, outline
from .parsing import PARSER_VERSION, ParsedDocument
from .parsing.errors import ParseError
from .parsing.isolation import parse_isolated
from .parsing.limits import ParseLimits

_EMBED_BATCH = 32
"""Texts per embedding request: enough to fill the model's batches, few enough that a question can get in between."""

_INFO_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """How documents are cut, in the embedding model's tokens without special ones."""

    max_tokens: int
    overlap_tokens: int


class Ingestion:
    """Takes in files, one at a time, into one store."""

    def __init__(
        self,
        reader: ChunkReader,
        writer: ChunkWriter,
        embedding: Upstream,
        workers: Workers,
        count_tokens: TokenCounter,
        size: ChunkSize,
        limits: ParseLimits,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._embedding = embedding
        self._workers = workers
        self._count_tokens = count_tokens
        self._size = size
        self._limits = limits
        self._model: ModelIdentity | None = None

    async def prepare(self) -> None:
        """Create the store for the embedding service's model, or check that it is that model's.

        Raises UpstreamError when the embedding service does not say which model it runs, and StoreError.
        """
        reply = await self._embedding.get_json("/info", _INFO_TIMEOUT_S)
        try:
            model = reply["models"]["embedding"]
            running = ModelIdentity(str(model["id"]), str(model["revision"]), int(model["dimension"]))
        except (KeyError, TypeError, ValueError) as error:
            raise UpstreamError(
                ErrorCode.UPSTREAM_BAD_REPLY, "embedding does not say which model it runs", stage=Stage.EMBEDDING
            ) from error
        await self._writer.initialise(running)
        self._model = running

    async def take_in(self, name: str, data: bytes, scope: str) -> FileResult:
        """Ingest one file; a fault becomes a rejected result that says why, and changes nothing in the store."""
        try:
            return await self._ingest(name, data, scope)
        except ParseError as error:
            return _rejected(name, ErrorCode(error.code), error.reason)
        except SteelyardError as error:
            return _rejected(name, error.code, error.detail)
        except (DimensionMismatch, InvalidPublication) as error:
            # The store checks the vectors; that they are wrong is the embedding service's fault and not the store's.
            return _rejected(name, ErrorCode.UPSTREAM_BAD_REPLY, f"embedding: {error}")
        except StoreError as error:
            return _rejected(name, ErrorCode.STORE_UNAVAILABLE, str(error))

    async def _ingest(self, name: str, data: bytes, scope: str) -> FileResult:
        await self.prepare()
        assert self._model is not None
        content_sha256 = content_hash(data)
        its_id = document_id(scope, name)
        its_revision = revision(
            content_sha256,
            parser_version=PARSER_VERSION,
            chunker_version=CHUNKER_VERSION,
            embedding_model=str(self._model),
            parameters=asdict(self._size),
        )
        known = await self._reader.document(its_id, Filter([scope]))
        if known is not None and known.revision == its_revision:
            pieces = await self._reader.document_chunks(its_id, Filter([scope]))
            return FileResult(
                name=name,
                status=FileStatus.UNCHANGED,
                document_id=its_id,
                revision=its_revision,
                chunks=len(pieces),
                tokens=sum(piece.tokens for piece in pieces),
                notes=list(known.notes),
            )
        parsed = await parse_isolated(name, data, self._limits)
        spans, tree = await self._workers.run(self._cut, parsed)
        texts = [parsed.text[span.char_start : span.char_end] for span in spans]
        vectors = await self._embed([*texts, *(branch.text for branch in tree.branches)])
        document = Document(
            document_id=its_id,
            revision=its_revision,
            source=name,
            title=parsed.title,
            scope=scope,
            media_type=parsed.media_type,
            text=parsed.text,
            content_sha256=content_sha256,
            size_bytes=len(data),
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            notes=parsed.notes,
        )
        nodes = tree.nodes(document)
        chunks = [
            _chunk(document, span, text, nodes[above].node_id)
            for span, text, above in zip(spans, texts, tree.above, strict=True)
        ]
        published = await self._writer.publish(
            document, chunks, vectors[: len(chunks)], self._model, Tree(nodes, vectors[len(chunks) :])
        )
        logs.get().info("document_published", document=its_id, status=published.status, chunks=len(chunks))
        return FileResult(
            name=name,
            status=FileStatus(published.status),
            document_id=its_id,
            revision=its_revision,
            chunks=len(chunks),
            tokens=sum(span.tokens for span in spans),
            notes=list(parsed.notes),
        )

    def _cut(self, parsed: ParsedDocument) -> tuple[tuple[ChunkSpan, ...], Outline]:
        spans = chunk(
            parsed,
            self._count_tokens,
            max_tokens=self._size.max_tokens,
            overlap_tokens=self._size.overlap_tokens,
        )
        return spans, outline(parsed, spans, self._count_tokens)

    async def _embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of all texts, float32 [len(texts), d], in their order."""
        rows: list[npt.NDArray[np.float32]] = []
        for start in range(0, len(texts), _EMBED_BATCH):
            batch = list(texts[start : start + _EMBED_BATCH])
            request = EmbeddingRequest(input=batch, encoding_format="base64")
            reply = await self._embedding.post("/v1/embeddings", request, EmbeddingResponse)
            if [entry.index for entry in reply.data] != list(range(len(batch))):
                raise UpstreamError(
                    ErrorCode.UPSTREAM_BAD_REPLY,
                    f"embedding answered {len(batch)} texts with {len(reply.data)} vectors",
                    stage=Stage.EMBEDDING,
                )
            rows += [_row(entry) for entry in reply.data]
        return np.stack(rows)


def _row(entry: EmbeddingData) -> npt.NDArray[np.float32]:
    try:
        vector = entry.vector()
    except ValueError as error:
        raise UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, f"embedding: {error}", stage=Stage.EMBEDDING) from error
    return np.frombuffer(vector.data, dtype="<f4")


def _chunk(document: Document, span: ChunkSpan, text: str, parent_id: str) -> Chunk:
    return Chunk(
        chunk_id=chunk_id(document.document_id, document.revision, span.ordinal, span.char_start, span.char_end),
        document_id=document.document_id,
        revision=document.revision,
        ordinal=span.ordinal,
        text=text,
        source=document.source,
        title=document.title,
        section=" > ".join(span.section_path),
        char_start=span.char_start,
        char_end=span.char_end,
        tokens=span.tokens,
        scope=document.scope,
        page=span.page,
        parent_id=parent_id,
    )


def _rejected(name: str, code: ErrorCode, detail: str) -> FileResult:
    logs.get().info("file_rejected", code=str(code))
    return FileResult(name=name, status=FileStatus.REJECTED, error=FileError(code=code, detail=detail))
