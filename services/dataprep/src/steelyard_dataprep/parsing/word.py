"""DOCX: the parts of a Word file, read straight from its XML.

The reader is our own because the library for it, mammoth, drops text without a word: the base text of Japanese ruby,
simple fields (dates, cross references) and formulas are gone from its output, while hidden text is kept.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections import Counter
from typing import NamedTuple

from lxml import etree

from steelyard_dataprep.parsing.canonical import canonical_text
from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.errors import CorruptDocumentError, TooLargeError
from steelyard_dataprep.parsing.libxml import raise_if_out_of_memory
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.media_type import MediaType
from steelyard_dataprep.parsing.structure import TextAssembler
from steelyard_dataprep.parsing.titles import given_title, notes_on, title_from_name
from steelyard_dataprep.parsing.word_body import BodyReader
from steelyard_dataprep.parsing.word_embedded import EmbeddedDocuments
from steelyard_dataprep.parsing.word_styles import Styles

_MAX_MEMBERS = 10_000
# RuntimeError: a member that is encrypted by ZIP's own means.
_BREAKAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
)
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_READ_PARTS = frozenset({"styles", "numbering", "footnotes", "endnotes"})
_UNREAD_PARTS = {"header": "page headers", "footer": "page footers", "comments": "comment parts"}
# Network and entity expansion are off, so that neither XXE nor an entity bomb has a way in.
_PARSER = etree.XMLParser(
    resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False, remove_pis=True
)


def parse_docx(name: str, data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse a Word document: paragraphs, headings, lists, tables, text boxes, foot- and endnotes.

    Raises CorruptDocumentError, TooLargeError (also for a ZIP bomb, before anything is unpacked).
    """
    assembler = TextAssembler(name, limits)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _refuse_bomb(name, archive, limits)
            package = _Package(name, archive)
            title = _core_title(package)
            notes = _read(name, package, assembler)
    except _BREAKAGE as error:
        cause = f"{type(error).__name__}: {error}"
        raise CorruptDocumentError(name, f"is not a readable Word document ({cause})") from error
    text, sections = assembler.finish()
    return ParsedDocument(
        text,
        given_title(title) or assembler.first_heading or title_from_name(name),
        MediaType.DOCX.value,
        sections,
        notes=notes,
        tables=assembler.tables,
    )


class _Related(NamedTuple):
    """A part that another one names: the last word of the relationship's type, its path, and the id it is called by."""

    kind: str
    path: str
    identifier: str


class _Package:
    """The parts of the container by the kind of relationship that leads to them."""

    def __init__(self, name: str, archive: zipfile.ZipFile) -> None:
        self._name = name
        self._archive = archive
        self._members = set(archive.namelist())

    def part(self, path: str) -> etree._Element | None:
        """Return the root of a part, or None if there is no such part."""
        if path not in self._members:
            return None
        try:
            root = etree.fromstring(self._archive.read(path), _PARSER)
        except etree.XMLSyntaxError as error:
            raise_if_out_of_memory(error)
            raise CorruptDocumentError(self._name, f"{path} is not well-formed XML ({error})") from error
        if root.getroottree().docinfo.doctype:
            raise CorruptDocumentError(self._name, f"{path} declares a document type, which no Word document does")
        return root

    def bytes_of(self, path: str) -> bytes | None:
        """Return a part as it is, or None if there is no such part."""
        return self._archive.read(path) if path in self._members else None

    def related(self, path: str) -> list[_Related]:
        """Return the parts inside the container that `path` names."""
        folder, base = posixpath.split(path)
        relations = self.part(posixpath.join(folder, "_rels", base + ".rels"))
        found = []
        for relation in relations if relations is not None else ():
            if relation.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/")
                kind = relation.get("Type", "").rpartition("/")[2]
                found.append(_Related(kind, target, relation.get("Id", "")))
        return found


def _read(name: str, package: _Package, assembler: TextAssembler) -> tuple[str, ...]:
    """Append the text of the document; return notes on what was passed over."""
    main = next((one.path for one in package.related("") if one.kind == "officeDocument"), "word/document.xml")
    document = package.part(main)
    if document is None:
        raise CorruptDocumentError(name, f"its main part {main} is missing")
    related = package.related(main)
    parts = {one.kind: package.part(one.path) for one in related if one.kind in _READ_PARTS}
    styles = Styles(parts.pop("styles", None))
    paths = {one.identifier: one.path for one in related if one.kind == "aFChunk"}
    embedded = EmbeddedDocuments(name, paths, package.part("[Content_Types].xml"), package.bytes_of)
    reader = BodyReader(assembler, styles, embedded, **parts)
    reader.read(document)
    unread = Counter(_UNREAD_PARTS[one.kind] for one in related if one.kind in _UNREAD_PARTS)
    return notes_on(reader.ignored + unread) + reader.notes


def _refuse_bomb(name: str, archive: zipfile.ZipFile, limits: ParseLimits) -> None:
    # The declared sizes can be trusted: zipfile stops reading a member there.
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise TooLargeError(name, f"holds {len(members)} parts, more than {_MAX_MEMBERS}")
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.max_unpacked_bytes:
        allowed = limits.max_unpacked_bytes
        raise TooLargeError(name, f"unpacks to {unpacked} bytes, more than {allowed} (max_unpacked_bytes)")


def _core_title(package: _Package) -> str:
    core = package.part("docProps/core.xml")
    return canonical_text(" ".join((core.findtext(_TITLE) or "").split())) if core is not None else ""
