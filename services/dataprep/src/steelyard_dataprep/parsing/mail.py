"""EML: one message as its headers for people and its body; attachments are named, not read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from email.errors import MessageError
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from email.policy import EmailPolicy
from typing import cast

from steelyard_dataprep.parsing.decoding import Decoded, decode
from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.errors import CorruptDocumentError
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.markup import MarkupReader
from steelyard_dataprep.parsing.media_type import MediaType
from steelyard_dataprep.parsing.structure import TextAssembler
from steelyard_dataprep.parsing.titles import notes_on, title_from_name
from steelyard_dataprep.parsing.webpage import parse_markup

_END_OF_HEADERS = re.compile(rb"\r?\n\r?\n")
_SHOWN = ("From", "To", "Cc", "Date")
_ON_THE_WAY = ("Received", "Return-Path", "Message-ID", "MIME-Version", "Content-Type")
_SPACED_NAME = re.compile(rb"([!-9;-~]+)[ \t]+:")
_HEADER_LINE = re.compile(rb"From |[!-9;-~]+:|[ \t]")
_BARE_BOUNDARY = re.compile(r"(\bboundary=)([^\s\";]+)", re.IGNORECASE)

_BREAKAGE = (MessageError, LookupError, ValueError, AttributeError, TypeError, RecursionError)
"""The library promises to accept anything, and raises all of these on headers and parts that are broken."""


class _LenientPolicy(EmailPolicy):
    """Python's policy, except that a boundary without its quotation marks is read to its end.

    Outlook Express and others leave them out of `boundary=----=_NextPart_000`, where they must be because of the second
    equals sign; the library reads `----` then, and mail programs the whole.
    """

    def header_source_parse(self, sourcelines: Sequence[str]) -> tuple[str, str]:
        """Return the name and the value of a header of the message."""
        name, value = super().header_source_parse(list(sourcelines))
        return name, _BARE_BOUNDARY.sub(r'\1"\2"', value) if name.lower() == "content-type" else value


_POLICY = _LenientPolicy()


def parse_email(name: str, data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse an Internet message (RFC 5322 with MIME). Its subject is the title and the one heading.

    Of alternatives the plain text is read, and HTML where there is no other. Raises CorruptDocumentError,
    UndecodableTextError, TooLargeError.
    """
    assembler = TextAssembler(name, limits)
    try:
        message = _message(name, data)
        headers = {header: " ".join(str(message[header]).split()) for header in ("Subject", *_SHOWN) if message[header]}
        if not headers and not any(message[header] for header in _ON_THE_WAY):
            raise CorruptDocumentError(name, "has no header that an Internet message has")
        assembler.heading(1, headers.get("Subject", ""))
        assembler.block("\n".join(f"{header}: {headers[header]}" for header in _SHOWN if header in headers))
        notes = _append_texts(name, message, assembler)
    except _BREAKAGE as error:
        raise CorruptDocumentError(name, f"is not a readable message ({type(error).__name__}: {error})") from error
    text, sections = assembler.finish()
    title = headers.get("Subject") or title_from_name(name)
    return ParsedDocument(text, title, MediaType.EMAIL.value, sections, notes=notes, tables=assembler.tables)


def append_web_archive(name: str, data: bytes, assembler: TextAssembler) -> tuple[str, ...]:
    """Append the text of a page that was saved as a MIME message (MHT); return notes on what was passed over.

    Raises CorruptDocumentError, UndecodableTextError, TooLargeError.
    """
    try:
        return _append_texts(name, _message(name, data), assembler)
    except _BREAKAGE as error:
        raise CorruptDocumentError(name, f"is not a readable web archive ({type(error).__name__}: {error})") from error


def _message(name: str, data: bytes) -> EmailMessage:
    """The message with headers in one character set; the library replaces what is not UTF-8 by question marks.

    It also takes a header for the body's first line when a space stands before its colon, as some programs write it.
    """
    end = _END_OF_HEADERS.search(data)
    headers = data if end is None else data[: end.start()]
    readable = _without_spaces_before_colons(decode(name, headers).text.encode("utf-8"))
    parser = BytesParser(_class=EmailMessage, policy=_POLICY)
    return cast("EmailMessage", parser.parsebytes(readable + data[len(headers) :]))


def _without_spaces_before_colons(headers: bytes) -> bytes:
    """The headers with each name right before its colon; text behind a line that is none stays as it is."""
    lines = headers.split(b"\n")
    for index, line in enumerate(lines):
        spaced = _SPACED_NAME.match(line)
        if spaced is not None:
            lines[index] = spaced[1] + b":" + line[spaced.end() :]
        elif _HEADER_LINE.match(line) is None:
            break
    return b"\n".join(lines)


def _append_texts(name: str, message: EmailMessage, assembler: TextAssembler) -> tuple[str, ...]:
    """Append what a mail program shows; return notes on what was passed over."""
    _refuse_undivided(name, message)
    texts: list[MIMEPart] = []
    attached: list[str] = []
    _sort(message, texts, attached)
    notes: list[str] = [] if texts else ["the message has no text"]
    for part in texts:
        notes += _append(name, part, assembler)
    if attached:
        notes.append(f"attachments ignored: {', '.join(attached)}")
    return tuple(notes)


def _refuse_undivided(name: str, message: EmailMessage) -> None:
    """Refuse a message of parts that can not be found in it: it would become a document of its headers alone."""
    for part in message.walk():
        if part.get_content_maintype() == "multipart" and not part.is_multipart() and str(part.get_payload()).strip():
            raise CorruptDocumentError(name, "the boundary between its parts that it names does not stand in it")


def _sort(part: MIMEPart, texts: list[MIMEPart], attached: list[str]) -> None:
    """Sort the leaves of a part into those that mail programs show as text, in order, and the names of the others."""
    if part.get_content_type() in ("multipart/alternative", "multipart/related"):
        plain, rich = part.get_body(("plain",)), part.get_body(("html",))
        # A plain text with nothing in it stands for a program that writes HTML alone.
        body = plain if plain is not None and (rich is None or _says_something(plain)) else rich
        texts += [] if body is None else [body]
        others = (leaf for leaf in _leaves(part) if leaf is not plain and leaf is not rich)
        attached += [leaf.get_filename() or leaf.get_content_type() for leaf in others]
    elif part.get_content_maintype() == "multipart":
        for inner in part.iter_parts():
            _sort(inner, texts, attached)
    elif part.get_content_maintype() == "text" and not part.is_attachment() and part.get_filename() is None:
        texts.append(part)
    else:
        attached.append(part.get_filename() or part.get_content_type())


def _says_something(part: MIMEPart) -> bool:
    payload = part.get_payload(decode=True)
    return isinstance(payload, bytes) and bool(payload.strip())


def _leaves(part: MIMEPart) -> Iterator[MIMEPart]:
    """The parts of a part that are no parts of others; a message within it is one."""
    for inner in part.iter_parts():
        if inner.get_content_maintype() == "multipart":
            yield from _leaves(inner)
        else:
            yield inner


def _append(name: str, part: MIMEPart, assembler: TextAssembler) -> tuple[str, ...]:
    decoded = _decoded(name, part)
    if part.get_content_subtype() != "html":
        assembler.block(decoded.text)
        return decoded.notes
    root = parse_markup(name, decoded.text)
    return decoded.notes + (notes_on(MarkupReader(assembler).read(root)) if root is not None else ())


def _decoded(name: str, part: MIMEPart) -> Decoded:
    payload = part.get_payload(decode=True)
    return decode(name, payload if isinstance(payload, bytes) else b"", part.get_content_charset())
