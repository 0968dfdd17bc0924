"""Writing a citation for a span of a sent chunk."""

from steelyard_contracts.answers import Citation

from .evidence import SentChunk


def cite(chunk: SentChunk, quote: tuple[int, int], sentence: tuple[int, int], support: float) -> Citation:
    """Return the citation of `chunk.text[quote]` for the answer's `sentence`; both are half-open code point spans.

    Without metadata the chunk is its own document: its id stands as the source, and spans count from its beginning.
    """
    known = chunk.metadata
    offset = chunk.char_start
    return Citation(
        marker=chunk.marker,
        chunk_id=chunk.chunk_id,
        document_id=None if known is None else known.document_id,
        revision=None if known is None else known.revision,
        source=chunk.chunk_id if known is None else known.source,
        title="" if known is None else known.title,
        section="" if known is None else known.section,
        page=None if known is None else known.page,
        page_end=None if known is None else known.page_end,
        char_start=offset,
        char_end=offset + len(chunk.text),
        sha256=chunk.sha256,
        quote=chunk.text[quote[0] : quote[1]],
        quote_start=offset + quote[0],
        quote_end=offset + quote[1],
        answer_start=sentence[0],
        answer_end=sentence[1],
        support=round(support, 4),
    )
