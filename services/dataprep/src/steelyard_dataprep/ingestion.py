"""Taking in one file: parse, cut, embed, and publish in one step, so that nothing is ever visible half done."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from steelyard_contracts.dataprep import FileError, FileResult
from steelyard_contracts.enums import FileStatus
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime import logs
from steelyard_runtime.blocking import Workers
from steelyard_runtime.http import Upstream
from steelyard_store.errors import DimensionMismatch, InvalidPublication, StoreError
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.port import ChunkReader, ChunkWriter
from steelyard_store.records import Chunk, Document, Filter
from steelyard_store.tree import Tree

from .chunking import CHUNKER_VERSION, ChunkSpan, chunk
from .chunking.counter import TokenCounter
from .embedding import embed, running_model
from .identity import Parameter, chunk_id, content_hash, document_id, revision
from .intakes import Intake, Intakes
from .outline import Outline, outline
from .parsing import PARSER_VERSION, ParsedDocument
from .parsing.errors import ParseError, ParserCrashedError, ParserMemoryError, ParserTimeoutError
from .parsing.isolation import parse_isolated
from .parsing.limits import ParseLimits
from .quarantine import Quarantine


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """How documents are cut, in the embedding model's tokens without special ones."""

    max_tokens: int
    overlap_tokens: int


@dataclass(frozen=True, slots=True)
class Source:
    """One file to take in. `name` is what its document is called.

    `text_column` is the one column of a table that becomes text; None takes all. `read_as` is a file name to tell its
    type by where `name` is none (a link).
    """

    name: str
    data: bytes
    scope: str
    text_column: str | None = None
    read_as: str | None = None


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
        intakes: Intakes,
        quarantine: Quarantine,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._embedding = embedding
        self._workers = workers
        self._count_tokens = count_tokens
        self._size = size
        self._limits = limits
        self._intakes = intakes
        self._quarantine = quarantine
        self._model: ModelIdentity | None = None

    async def prepare(self) -> None:
        """Create the store for the embedding service's model, or check that it is that model's.

        Raises UpstreamError when the embedding service does not say which model it runs, and StoreError.
        """
        running = await running_model(self._embedding)
        await self._writer.initialise(running)
        self._model = running

    def accept(self, name: str, scope: str) -> Intake:
        """Register a file that will be taken in, so that a deletion from now on reaches it; `finish` has to follow."""
        return self._intakes.accept(document_id(scope, name))

    def finish(self, intake: Intake) -> None:
        """Forget a file that was registered, whatever became of it."""
        self._intakes.close(intake)

    async def take_in(self, source: Source, intake: Intake) -> FileResult:
        """Ingest one file; a fault becomes a rejected result that says why, and changes nothing in the store."""
        name = source.name
        try:
            return await self._ingest(source, intake)
        except ParseError as error:
            return _rejected(name, ErrorCode(error.code), error.reason)
        except SteelyardError as error:
            return _rejected(name, error.code, error.detail)
        except (DimensionMismatch, InvalidPublication) as error:
            # The store checks the vectors; that they are wrong is the embedding service's fault and not the store's.
            return _rejected(name, ErrorCode.UPSTREAM_BAD_REPLY, f"embedding: {error}")
        except StoreError as error:
            return _rejected(name, ErrorCode.STORE_UNAVAILABLE, str(error))

    async def _ingest(self, source: Source, intake: Intake) -> FileResult:
        intake.check()
        name, data, scope = source.name, source.data, source.scope
        await self.prepare()
        assert self._model is not None
        content_sha256 = await self._workers.run(content_hash, data)
        its_id = intake.document_id
        its_revision = revision(
            content_sha256,
            parser_version=PARSER_VERSION,
            chunker_version=CHUNKER_VERSION,
            embedding_model=str(self._model),
            parameters=self._parameters(source),
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
        parsed = await self._parse(source, content_sha256)
        spans, tree = await self._workers.run(self._cut, parsed)
        texts = [parsed.text[span.char_start : span.char_end] for span in spans]
        vectors = await embed(self._embedding, [*texts, *(branch.text for branch in tree.branches)])
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
        async with self._intakes.publishing(intake):
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

    def _parameters(self, source: Source) -> dict[str, Parameter]:
        """What shapes the stored document besides its content and the versions."""
        size: dict[str, Parameter] = asdict(self._size)
        return size if source.text_column is None else {**size, "text_column": source.text_column}

    async def _parse(self, source: Source, content_sha256: str) -> ParsedDocument:
        """Parse in a process of its own; content that ends that process is counted against.

        A crash may be the machine's fault, so it is tried again at once. A limit that was reached once would be reached
        again, so the second try waits until the file is sent again.
        """
        while True:
            self._quarantine.check(content_sha256)
            try:
                return await parse_isolated(
                    source.read_as or source.name, source.data, self._limits, text_column=source.text_column
                )
            except (ParserTimeoutError, ParserMemoryError) as error:
                self._quarantine.note(content_sha256, error)
                raise
            except ParserCrashedError as error:
                self._quarantine.note(content_sha256, error)
                if self._quarantine.holds(content_sha256):
                    raise

    def _cut(self, parsed: ParsedDocument) -> tuple[tuple[ChunkSpan, ...], Outline]:
        spans = chunk(
            parsed,
            self._count_tokens,
            max_tokens=self._size.max_tokens,
            overlap_tokens=self._size.overlap_tokens,
        )
        return spans, outline(parsed, spans, self._count_tokens)


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
        page_end=span.page_end,
        parent_id=parent_id,
    )


def _rejected(name: str, code: ErrorCode, detail: str) -> FileResult:
    logs.get().info("file_rejected", code=str(code))
    return FileResult(name=name, status=FileStatus.REJECTED, error=FileError(code=code, detail=detail))
