"""What passes between the service and a parser process: frames of bytes, JSON in them, never pickled objects.

The reply is two frames, a JSON head and the text as UTF-8: the text of a large file needs no escaping then, and
decoding it does not hold up the event loop.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from steelyard_dataprep.parsing.document import PageSpan, ParsedDocument, Section
from steelyard_dataprep.parsing.errors import ERRORS_BY_CODE, ParseError
from steelyard_dataprep.parsing.limits import ParseLimits

LENGTH = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """A file to parse, without its bytes, which follow in a frame of their own."""

    name: str
    limits: ParseLimits
    text_column: str | None = None


def frame(payload: bytes) -> bytes:
    """Return the payload with its length before it."""
    return LENGTH.pack(len(payload)) + payload


def encode_request(request: ParseRequest) -> bytes:
    """Return the request's JSON; file names that are not Unicode pass through as escapes."""
    return json.dumps(asdict(request)).encode("ascii")


def decode_request(payload: bytes) -> ParseRequest:
    """Inverse of `encode_request`."""
    fields = json.loads(payload)
    return ParseRequest(fields["name"], ParseLimits(**fields["limits"]), fields["text_column"])


def encode_reply(outcome: ParsedDocument | ParseError) -> tuple[bytes, bytes]:
    """Return the head and the text of a reply."""
    if isinstance(outcome, ParseError):
        return _json({"error": outcome.code, "reason": outcome.reason}), b""
    head = {
        "title": outcome.title,
        "media_type": outcome.media_type,
        "sections": [
            [section.level, section.title, section.path, section.char_start, section.body_start, section.char_end]
            for section in outcome.sections
        ],
        "pages": [[page.number, page.char_start, page.char_end] for page in outcome.pages],
        "notes": outcome.notes,
    }
    return _json(head), outcome.text.encode("utf-8")


def decode_reply(name: str, head: bytes, text: bytes) -> ParsedDocument:
    """Inverse of `encode_reply`: return the document, or raise the ParseError that the parser met.

    Raises ValueError, KeyError or TypeError for a reply that is not well formed.
    """
    fields = json.loads(head)
    if "error" in fields:
        raise ERRORS_BY_CODE[fields["error"]](name, str(fields["reason"]))
    return ParsedDocument(
        text.decode("utf-8"),
        str(fields["title"]),
        str(fields["media_type"]),
        tuple(
            Section(int(level), str(title), tuple(map(str, path)), int(start), int(body), int(end))
            for level, title, path, start, body, end in fields["sections"]
        ),
        tuple(PageSpan(int(number), int(start), int(end)) for number, start, end in fields["pages"]),
        tuple(map(str, fields["notes"])),
    )


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
