"""Taking in one file: parse, cut, embed, and publish in one step, so that nothing is ever visible half done."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from steelyard_contracts.dataprep import FileError, FileResult
from steelyard_contracts.enums import FileStatus
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime import logs
from steelyard_runtime.blocking import Workers
from steelyard_runtime.upstream.http import Upstream
from steelyard_store.errors import (
    DimensionMismatch,
    DocumentDeleted,
    InvalidPublication,
    ModelMismatch,
    StoreError,
    StoreNotInitialised,
)
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.port import ChunkReader, ChunkWriter
from steelyard_store.records import Filter

from .chunking import CHUNKER_VERSION
from .embedding import ChunkMeasure, embed, running_model
from .identity import Parameter, content_hash, document_id, revision
from .intakes import Intake, Intakes, deleted_meanwhile
from .parsing import PARSER_VERSION
from .parsing.errors import ParseError, ParserCrashedError, ParserMemoryError, ParserTimeoutError
from .parsing.media_type import TABLES, named_type
from .preparation.prepared import ChunkSize, PreparedDocument
from .publication import Identity, publication, texts_to_embed
from .quarantine import Quarantine


class Parser(Protocol):
    """What prepares a file; see `IsolatedParser`."""

    async def prepare(self, name: str, data: bytes, *, text_column: str | None = None) -> PreparedDocument:
        """Parse and cut one file; raises a ParseError."""
        ...


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
        parser: Parser,
        size: ChunkSize,
        measure: ChunkMeasure,
        intakes: Intakes,
        quarantine: Quarantine,
        batch_s: float,
    ) -> None:
        """`batch_s` is how long the embedding service may take for a batch of texts."""
        self._reader = reader
        self._writer = writer
        self._embedding = embedding
        self._workers = workers
        self._parser = parser
        self._size = size
        self._measure = measure
        self._intakes = intakes
        self._quarantine = quarantine
        self._batch_s = batch_s
        self._model: ModelIdentity | None = None

    async def prepare(self) -> None:
        """Create the store for the embedding service's model, or check that it is that model's.

        A store that was there before is not created again: an empty one in its place would make a lost disk look like
        documents in which nothing is found.

        Raises UpstreamError when the embedding service does not say which model it runs, MeasureMismatchError when that
        would not read the chunks whole, and StoreError.
        """
        running = await running_model(self._embedding, self._measure)
        if self._model is None:
            await self._writer.initialise(running)
        else:
            await self._check_kept(running)
        self._model = running

    async def _check_kept(self, running: ModelIdentity) -> None:
        try:
            stored = (await self._reader.check()).model
        except StoreNotInitialised as error:
            raise StoreNotInitialised(
                f"{error}, and there was one: restore it, or start dataprep again, which begins an empty one"
            ) from error
        if stored != running:
            raise ModelMismatch(stored=stored, given=running)

    async def accept(self, names: Sequence[str], scope: str) -> list[Intake]:
        """Register files that will be taken in, so that a deletion from now on reaches them; `finish` has to follow.

        Raises StoreError.
        """
        intakes = [self._intakes.accept(document_id(scope, name)) for name in names]
        try:
            deletions = await self._writer.deletions([intake.document_id for intake in intakes])
        except StoreNotInitialised:
            # Nothing has been deleted from a store that is still to be made.
            return intakes
        except BaseException:
            for intake in intakes:
                self.finish(intake)
            raise
        for intake in intakes:
            intake.deletions = deletions[intake.document_id]
        return intakes

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
        except DocumentDeleted:
            # By another process: this one's own deletions withdraw the file itself.
            withdrawn = deleted_meanwhile()
            return _rejected(name, withdrawn.code, withdrawn.detail)
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
        prepared = await self._prepare(source, content_sha256)
        texts = await self._workers.run(texts_to_embed, prepared)
        vectors = await embed(self._embedding, texts, self._batch_s)
        identity = Identity(its_id, its_revision, name, scope, content_sha256, len(data))
        whole = await self._workers.run(publication, prepared, identity, vectors)
        async with self._intakes.publishing(intake):
            published = await self._writer.publish(
                whole.document,
                whole.chunks,
                whole.vectors,
                self._model,
                whole.tree,
                seen_deletions=intake.deletions,
            )
        logs.get().info("document_published", document=its_id, status=published.status, chunks=len(whole.chunks))
        return FileResult(
            name=name,
            status=FileStatus(published.status),
            document_id=its_id,
            revision=its_revision,
            chunks=len(whole.chunks),
            tokens=sum(one.tokens for one in prepared.chunks),
            notes=list(prepared.notes),
        )

    def _parameters(self, source: Source) -> dict[str, Parameter]:
        """What shapes the stored document besides its content and the versions."""
        size: dict[str, Parameter] = asdict(self._size)
        # No column is chosen of what is no table: a folder's other files must not become new revisions by the option.
        if source.text_column is None or named_type(source.read_as or source.name) not in TABLES:
            return size
        return {**size, "text_column": source.text_column}

    async def _prepare(self, source: Source, content_sha256: str) -> PreparedDocument:
        """Parse and cut in a process of its own; content that ends that process is counted against.

        A crash may be the machine's fault, so it is tried again at once. A limit that was reached once would be reached
        again, so the second try waits until the file is sent again. What a busy machine kept from being done counts for
        nothing.
        """
        while True:
            self._quarantine.check(content_sha256)
            try:
                return await self._parser.prepare(
                    source.read_as or source.name, source.data, text_column=source.text_column
                )
            except (ParserTimeoutError, ParserMemoryError) as error:
                self._quarantine.note(content_sha256, error)
                raise
            except ParserCrashedError as error:
                self._quarantine.note(content_sha256, error)
                if self._quarantine.holds(content_sha256):
                    raise


def _rejected(name: str, code: ErrorCode, detail: str) -> FileResult:
    logs.get().info("file_rejected", code=str(code))
    return FileResult(name=name, status=FileStatus.REJECTED, error=FileError(code=code, detail=detail))
