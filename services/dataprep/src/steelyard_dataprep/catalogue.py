"""The documents that are in the store: listing and deleting."""

from steelyard_contracts.dataprep import DocumentInfo, DocumentList
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.scopes import named_scopes
from steelyard_store.port import ChunkReader, ChunkWriter
from steelyard_store.records import DocumentSummary, Filter

from .identity import document_id
from .intakes import Intakes


class Catalogue:
    """Lists and deletes documents within scopes that exist. The first of `scopes` is the default."""

    def __init__(self, reader: ChunkReader, writer: ChunkWriter, intakes: Intakes, scopes: tuple[str, ...]) -> None:
        self._reader = reader
        self._writer = writer
        self._intakes = intakes
        self._scopes = scopes

    def scope(self, given: str | None) -> str:
        """The scope to ingest into; raises `scope_unknown`."""
        return named_scopes(None if given is None else [given], self._scopes)[0]

    def scopes(self, given: list[str] | None) -> tuple[str, ...]:
        """The scopes to look in, None being the default one; raises `scope_unknown`."""
        return named_scopes(given, self._scopes)

    async def documents(self, scopes: list[str] | None, after: str | None, limit: int) -> DocumentList:
        """One page of the documents of `scopes` (None = the default scope), by id. Raises StoreError."""
        page = await self._reader.documents(self._filter(scopes), limit=limit, after=after)
        return DocumentList(documents=[_info(summary) for summary in page.documents], next_after=page.next_after)

    async def delete(self, name_or_id: str, scopes: list[str] | None) -> list[str]:
        """Delete the document of that id, or those of that name, and return the ids; raises `not_found`.

        Files of the document that are on their way are withdrawn, so that it stays deleted.
        """
        within = self._filter(scopes)
        if await self._reader.document(name_or_id, within) is not None:
            ids = [name_or_id]
        else:
            # By name as a document's id is made from it: also what is not published yet, however the name is composed.
            ids = [document_id(scope, name_or_id) for scope in sorted(within.scopes)]
        deleted = [one for one in ids if await self._delete(one, within)]
        if not deleted:
            raise SteelyardError(ErrorCode.NOT_FOUND, "file_path: no document has this id or name")
        return deleted

    async def _delete(self, its_id: str, within: Filter) -> bool:
        async with self._intakes.deleting(its_id) as on_their_way:
            return await self._writer.delete(its_id, within=within) or on_their_way

    def _filter(self, scopes: list[str] | None) -> Filter:
        return Filter(self.scopes(scopes))


def _info(summary: DocumentSummary) -> DocumentInfo:
    return DocumentInfo(
        document_id=summary.document_id,
        revision=summary.revision,
        name=summary.source,
        title=summary.title,
        scope=summary.scope,
        media_type=summary.media_type,
        size_bytes=summary.size_bytes,
        chunks=summary.chunk_count,
        created_at=summary.created_at,
    )
