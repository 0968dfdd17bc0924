"""EML: one message as its headers for people and its body; attachments are named, not read."""

from __future__ import annotations

from email import policy
from email.errors import MessageError
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser

from steelyard_dataprep.parsing.decoding import Decoded, decode
from steelyard_dataprep.parsing.document import ParsedDocument
from steelyard_dataprep.parsing.errors import CorruptDocumentError
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.parsing.markup import MarkupReader
from steelyard_dataprep.parsing.media_type import MediaType
from steelyard_dataprep.parsing.structure import TextAssembler
from steelyard_dataprep.parsing.titles import notes_on, title_from_name
from steelyard_dataprep.parsing.webpage import parse_markup

_SHOWN = ("From", "To", "Cc", "Date")


def parse_email(name: str, data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse an Internet message (RFC 5322 with MIME). Its subject is the title and the one heading.

    Of alternatives the plain text is read, and HTML where there is no other. Raises CorruptDocumentError,
    UndecodableTextError, TooLargeError.
    """
    assembler = TextAssembler(name, limits)
    try:
        message = BytesParser(_class=EmailMessage, policy=policy.default).parsebytes(data)
        headers = {header: " ".join(str(message[header]).split()) for header in ("Subject", *_SHOWN) if message[header]}
        if not headers:
            raise CorruptDocumentError(name, "has no header that an Internet message has")
        assembler.heading(1, headers.get("Subject", ""))
        assembler.block("\n".join(f"{header}: {headers[header]}" for header in _SHOWN if header in headers))
        notes = _body(name, message, assembler)
        attached = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    except (MessageError, LookupError, ValueError, AttributeError, TypeError, RecursionError) as error:
        # The library promises to accept anything, and raises all of these on headers and parts that are broken.
        raise CorruptDocumentError(name, f"is not a readable message ({type(error).__name__}: {error})") from error
    text, sections = assembler.finish()
    if attached:
        notes += (f"attachments ignored: {', '.join(attached)}",)
    title = headers.get("Subject") or title_from_name(name)
    return ParsedDocument(text, title, MediaType.EMAIL.value, sections, notes=notes)


def _body(name: str, message: EmailMessage, assembler: TextAssembler) -> tuple[str, ...]:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ("the message has no text",)
    decoded = _decoded(name, part)
    if part.get_content_subtype() != "html":
        assembler.block(decoded.text)
        return decoded.notes
    root = parse_markup(name, decoded.text)
    ignored = MarkupReader(assembler).read(root) if root is not None else None
    return decoded.notes + (notes_on(ignored) if ignored else ())


def _decoded(name: str, part: MIMEPart) -> Decoded:
    payload = part.get_payload(decode=True)
    return decode(name, payload if isinstance(payload, bytes) else b"", part.get_content_charset())
