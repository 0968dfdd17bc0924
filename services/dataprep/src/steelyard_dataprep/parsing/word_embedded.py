"""Documents that a Word document carries as they are (`w:altChunk`): Word shows their text where they stand.

Programs that make Word documents of web pages write nothing else: the main part then has no text of its own.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from lxml import etree

from steelyard_dataprep.parsing.decoding import decode
from steelyard_dataprep.parsing.mail import append_web_archive
from steelyard_dataprep.parsing.structure import TextAssembler
from steelyard_dataprep.parsing.webpage import append_page


def _append_plain(name: str, data: bytes, assembler: TextAssembler) -> tuple[str, ...]:
    decoded = decode(name, data)
    assembler.block(decoded.text)
    return decoded.notes


_READERS: Mapping[str, Callable[[str, bytes, TextAssembler], tuple[str, ...]]] = {
    "text/html": append_page,
    "application/xhtml+xml": append_page,
    "message/rfc822": append_web_archive,
    "multipart/related": append_web_archive,
    "application/x-mimearchive": append_web_archive,
    "text/plain": _append_plain,
}


class EmbeddedDocuments:
    """The embedded documents of one file: `paths` by the id that the main part calls each by, `read` gives a part."""

    def __init__(
        self, name: str, paths: Mapping[str, str], types: etree._Element | None, read: Callable[[str], bytes | None]
    ) -> None:
        self._name = name
        self._paths = paths
        self._types = types
        self._read = read

    def append(self, identifier: str, assembler: TextAssembler) -> tuple[str, ...] | None:
        """Append the text of an embedded document; return notes on what was passed over, None where it all was.

        Raises CorruptDocumentError, UndecodableTextError, TooLargeError.
        """
        path = self._paths.get(identifier)
        reader = None if path is None else _READERS.get(self._type_of(path))
        data = None if path is None or reader is None else self._read(path)
        if reader is None or data is None:
            return None
        return reader(self._name, data, assembler)

    def _type_of(self, path: str) -> str:
        """The media type that the container declares for a part, by its name or else by its extension."""
        extension = posixpath.splitext(path)[1].lstrip(".").lower()
        by_extension = ""
        for declared in self._types if self._types is not None else ():
            kind = str(declared.get("ContentType", "")).partition(";")[0].strip().lower()
            if declared.get("PartName", "").lstrip("/") == path:
                return kind
            if declared.get("Extension", "").lower() == extension:
                by_extension = kind
        return by_extension
