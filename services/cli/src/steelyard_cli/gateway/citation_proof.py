"""Proving the citations of a ledger against the store: each is what the store still holds, byte for byte, or not."""

from collections.abc import Sequence

from pydantic import BaseModel

from steelyard_chatqna.grounding.evidence import text_sha256
from steelyard_chatqna.inert import inert
from steelyard_contracts.answers import Citation, Ledger
from steelyard_contracts.ledger import LedgerEntry
from steelyard_runtime.settings.base import SettingsError
from steelyard_runtime.settings.groups import ScopeSettings, StoreSettings
from steelyard_store.errors import StoreError
from steelyard_store.opening import locate, open_reader
from steelyard_store.port import ChunkReader
from steelyard_store.records import Chunk, Document, Filter

from ..errors import ConfigurationError, StackError


class Proof(BaseModel):
    """What the store says of one citation; it is proven when there is no fault. Faults are in words."""

    marker: int
    chunk_id: str
    document_id: str | None
    source: str
    faults: list[str]

    @property
    def proven(self) -> bool:
        """Whether nothing contradicts it."""
        return not self.faults


async def prove(ledger: Ledger) -> list[Proof]:
    """A proof for each citation, by the store of this process's settings, in every scope that exists.

    Raises ConfigurationError for refused settings, StackError when the store can not be read.
    """
    try:
        store, scopes = StoreSettings.load(), ScopeSettings.load().steelyard_scopes
    except SettingsError as error:
        raise ConfigurationError(str(error)) from None
    try:
        async with open_reader(locate(store)) as reader:
            return await proofs(ledger, reader, scopes)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    except StoreError as error:
        raise StackError(f"the store can not be read: {error}") from None


async def proofs(ledger: Ledger, reader: ChunkReader, scopes: Sequence[str]) -> list[Proof]:
    """The same against an open store; raises StoreError."""
    entries = {entry.chunk_id: entry for entry in ledger.entries}
    within = Filter(scopes)
    found = []
    for citation in ledger.citations:
        document = None
        if citation.document_id is not None:
            document = await reader.document(citation.document_id, within)
        chunk = (await reader.chunks([citation.chunk_id], within)).get(citation.chunk_id)
        found.append(
            Proof(
                marker=citation.marker,
                chunk_id=citation.chunk_id,
                document_id=citation.document_id,
                source=citation.source,
                faults=[
                    *_unsent(citation, entries.get(citation.chunk_id)),
                    *_contradictions(citation, document, chunk),
                ],
            )
        )
    return found


def _unsent(citation: Citation, entry: LedgerEntry | None) -> list[str]:
    if entry is None or entry.rank is None:
        return ["the ledger does not say that its chunk was sent to the model"]
    if entry.rank != citation.marker:
        return [f"its marker is [{citation.marker}], and its chunk was sent as [{entry.rank}]"]
    return []


def _contradictions(citation: Citation, document: Document | None, chunk: Chunk | None) -> list[str]:
    """What the store says otherwise, the first cause only: what follows from it would be no news."""
    if document is None:
        return [f"document {citation.document_id} is not in the store: deleted, or in no scope of STEELYARD_SCOPES"]
    if document.revision != citation.revision:
        return [f"revision {citation.revision} was replaced; the store holds {document.revision}"]
    if chunk is None or chunk.document_id != document.document_id:
        return [f"chunk {citation.chunk_id} is not in the document"]
    misnamed = _misnamed(citation, document, chunk)
    if misnamed is not None:
        return [misnamed]
    span = (citation.char_start, citation.char_end)
    if span != (chunk.char_start, chunk.char_end):
        return [f"its span is {span[0]}-{span[1]}, and the chunk's in the store {chunk.char_start}-{chunk.char_end}"]
    text = document.text[citation.char_start : citation.char_end]
    if text != chunk.text:
        return ["the chunk's text in the store is not the document's at that span"]
    if text_sha256(inert(text)) != citation.sha256:
        return ["the SHA-256 of the stored text as it goes into a prompt is another"]
    return _misquoted(citation, document)


def _misnamed(citation: Citation, document: Document, chunk: Chunk) -> str | None:
    """What a reader is told of where the text stands, when it is not so; LEDGER_TEXTS=false keeps no names."""
    for name, said, stored in (
        ("source", citation.source, document.source),
        ("title", citation.title, chunk.title),
        ("section", citation.section, chunk.section),
    ):
        if said and said != stored:
            return f"its {name} is {said!r}, and the document's in the store {stored!r}"
    return None


def _misquoted(citation: Citation, document: Document) -> list[str]:
    if not citation.char_start <= citation.quote_start <= citation.quote_end <= citation.char_end:
        return [f"its quote's span {citation.quote_start}-{citation.quote_end} is outside its chunk"]
    kept_out = not citation.quote  # LEDGER_TEXTS=false keeps the span and not the words
    if not kept_out and document.text[citation.quote_start : citation.quote_end] != citation.quote:
        return ["its quote is not what the document says at that span"]
    return []
