"""The documents that are in the store: listing, showing and deleting."""

import unicodedata

from steelyard_contracts.dataprep import DocumentDetail, DocumentDetails, DocumentInfo, DocumentList, GetRequest
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.scopes import named_scopes
from steelyard_store.port import ChunkReader, ChunkWriter
from steelyard_store.records import Document, DocumentPlace, DocumentSummary, Filter

from .identity import document_id
from .intakes import Intakes

_PAGE = 1000
_PAGES_LOOKED_AT = 10
"""Pages of the store that one request for matching documents looks through; the next one goes on from there."""


class Catalogue:
    """Lists and deletes documents within scopes that exist. The first of `scopes` is the default."""

    def __init__(self, reader: ChunkReader, writer: ChunkWriter, intakes: Intakes, scopes: tuple[str, ...]) -> None:
        self._reader = reader
        self._writer = writer
        self._intakes = intakes
        self._scopes = scopes

    def scope(self, given: str | None, within: list[str] | None) -> str:
        """The scope to ingest into: the `given` one, else the only one `within`, else the default one.

        `within` are the scopes that the caller may ingest into, None being all. Raises `scope_forbidden`,
        `scope_unknown`, and `scope_required` where it would have to be guessed.
        """
        if within is None:
            return self.scopes(None if given is None else [given])[0]
        allowed = self.scopes(within)
        if given is None and len(allowed) > 1:
            raise SteelyardError(ErrorCode.SCOPE_REQUIRED, f"scope: should be one of {', '.join(allowed)}")
        if given is not None and given not in allowed:
            # Whether it exists is not said: a caller learns nothing about scopes that are not its own.
            raise SteelyardError(ErrorCode.SCOPE_FORBIDDEN, "scope: the caller may not ingest into it")
        return allowed[0] if given is None else given

    def scopes(self, given: list[str] | None) -> tuple[str, ...]:
        """The scopes to look in, None being the default one; raises `scope_unknown`."""
        return named_scopes(given, self._scopes)

    async def documents(self, asked: GetRequest) -> DocumentList:
        """One page of documents by name. Raises `invalid_request` for a cursor that is none, and StoreError."""
        within, after = self._filter(asked.scopes), _place(asked.after)
        if asked.matching is None:
            page = await self._reader.documents(within, limit=asked.limit, after=after)
            return DocumentList(
                documents=[_info(summary, summary.chunk_count) for summary in page.documents],
                next_after=_cursor(page.next_after),
            )
        wanted, found = _comparable(asked.matching), list[DocumentInfo]()
        for _ in range(_PAGES_LOOKED_AT):
            page = await self._reader.documents(within, limit=_PAGE, after=after)
            for summary in page.documents:
                if wanted in _comparable(summary.source) or wanted in _comparable(summary.title):
                    found.append(_info(summary, summary.chunk_count))
                if len(found) == asked.limit and summary is not page.documents[-1]:
                    return DocumentList(documents=found, next_after=_cursor(summary.place))
            after = page.next_after
            if after is None or len(found) == asked.limit:
                break
        return DocumentList(documents=found, next_after=_cursor(after))

    async def details(self, name_or_id: str, scopes: list[str] | None) -> DocumentDetails:
        """The document of that id, or those of that name; raises `not_found`, and StoreError."""
        within = self._filter(scopes)
        found = [await self._detail(one, within) for one in await self._ids(name_or_id, within)]
        documents = [one for one in found if one is not None]
        if not documents:
            raise _not_found()
        return DocumentDetails(documents=documents)

    async def delete(self, name_or_id: str, scopes: list[str] | None) -> list[str]:
        """Delete the document of that id, or those of that name, and return the ids; raises `not_found`.

        Files of the document that are on their way are withdrawn, so that it stays deleted.
        """
        within = self._filter(scopes)
        deleted = [one for one in await self._ids(name_or_id, within) if await self._delete(one, within)]
        if not deleted:
            raise _not_found()
        return deleted

    async def _ids(self, name_or_id: str, within: Filter) -> list[str]:
        if await self._reader.document(name_or_id, within) is not None:
            return [name_or_id]
        # By name as a document's id is made from it: also what is not published yet, however the name is composed.
        return [document_id(scope, name_or_id) for scope in sorted(within.scopes)]

    async def _detail(self, its_id: str, within: Filter) -> DocumentDetail | None:
        document = await self._reader.document(its_id, within)
        if document is None:
            return None
        chunks = await self._reader.document_chunks(its_id, within)
        return DocumentDetail(
            **_info(document, len(chunks)).model_dump(),
            content_sha256=document.content_sha256,
            characters=len(document.text),
            tokens=sum(chunk.tokens for chunk in chunks),
            notes=list(document.notes),
        )

    async def _delete(self, its_id: str, within: Filter) -> bool:
        async with self._intakes.deleting(its_id) as on_their_way:
            return await self._writer.delete(its_id, within=within) or on_their_way

    def _filter(self, scopes: list[str] | None) -> Filter:
        return Filter(self.scopes(scopes))


def _cursor(place: DocumentPlace | None) -> str | None:
    """A place as callers carry it from page to page; no id has a space."""
    return None if place is None else f"{place.document_id} {place.source}"


def _place(cursor: str | None) -> DocumentPlace | None:
    """The place that a cursor names; raises `invalid_request`."""
    if cursor is None:
        return None
    document, _, name = cursor.partition(" ")
    if not (document and name.strip()):
        raise SteelyardError(ErrorCode.INVALID_REQUEST, "after: is no `next_after` of an earlier page")
    return DocumentPlace(name, document)


def _comparable(text: str) -> str:
    """A text as it is compared with what somebody types: composed, and without capitals."""
    return unicodedata.normalize("NFC", text).casefold()


def _not_found() -> SteelyardError:
    return SteelyardError(ErrorCode.NOT_FOUND, "file_path: no document has this id or name")


def _info(document: Document | DocumentSummary, chunks: int) -> DocumentInfo:
    return DocumentInfo(
        document_id=document.document_id,
        revision=document.revision,
        name=document.source,
        title=document.title,
        scope=document.scope,
        media_type=document.media_type,
        size_bytes=document.size_bytes,
        chunks=chunks,
        created_at=document.created_at,
    )
