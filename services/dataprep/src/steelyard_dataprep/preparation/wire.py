"""What passes between the service and a parser process: frames of bytes, JSON in them, never pickled objects.

A reply is a head, then the text in UTF-8, the chunks and the branches, in frames that are small enough for each to be
decoded without holding up the event loop, from which a thread does not get the interpreter while it decodes one.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from steelyard_dataprep.outline import Branch
from steelyard_dataprep.parsing.errors import ERRORS_BY_CODE, ParseError
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.preparation.prepared import ChunkSize, PreparedChunk, PreparedDocument

LENGTH = struct.Struct(">Q")
MAX_FRAME_BYTES = 8 * 2**20
_TEXT_CHARS = 2**18
_ROWS = 256


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """A file to prepare, without its bytes, which follow in a frame of their own."""

    name: str
    limits: ParseLimits
    size: ChunkSize
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
    limits, size = ParseLimits(**fields["limits"]), ChunkSize(**fields["size"])
    return ParseRequest(fields["name"], limits, size, fields["text_column"])


def encode_reply(outcome: PreparedDocument | ParseError) -> Iterator[bytes]:
    """Yield the frames of a reply, the head first; it says how many follow."""
    if isinstance(outcome, ParseError):
        yield _json({"frames": 0, "error": outcome.code, "reason": outcome.reason})
        return
    sections = {label: index for index, label in enumerate(dict.fromkeys(one.section for one in outcome.chunks))}
    text = [(start, start + _TEXT_CHARS) for start in range(0, len(outcome.text), _TEXT_CHARS)]
    chunks = [
        [one.char_start, one.char_end, one.tokens, sections[one.section], one.page, one.page_end, one.above]
        for one in outcome.chunks
    ]
    branches = [[one.title, one.abstract, one.text, one.parent] for one in outcome.branches]
    tables = [_batches(list(sections)), _batches(chunks), _batches(branches)]
    yield _json(
        {
            "frames": len(text) + sum(map(len, tables)),
            "text": len(text),
            "tables": [len(table) for table in tables],
            "title": outcome.title,
            "media_type": outcome.media_type,
            "notes": outcome.notes,
        }
    )
    for start, end in text:
        yield outcome.text[start:end].encode("utf-8")
    for table in tables:
        yield from map(_json, table)


def following_frames(head: bytes) -> int:
    """How many frames follow a reply's head; raises ValueError, KeyError or TypeError for what is none."""
    return int(json.loads(head)["frames"])


def decode_reply(name: str, frames: Sequence[bytes]) -> PreparedDocument:
    """Inverse of `encode_reply`: return the document, or raise the ParseError that the parser met.

    Raises ValueError, KeyError, TypeError or IndexError for a reply that is not well formed.
    """
    fields = json.loads(frames[0])
    if "error" in fields:
        raise ERRORS_BY_CODE[fields["error"]](name, str(fields["reason"]))
    if len(frames) - 1 != fields["text"] + sum(fields["tables"]):
        raise ValueError(f"{len(frames) - 1} frames instead of {fields['text']} of text and {fields['tables']}")
    rest = iter(frames[1:])
    text = "".join(part.decode("utf-8") for part in islice(rest, fields["text"]))
    sections, chunks, branches = (
        [row for part in islice(rest, n) for row in json.loads(part)] for n in fields["tables"]
    )
    return PreparedDocument(
        text,
        str(fields["title"]),
        str(fields["media_type"]),
        tuple(map(str, fields["notes"])),
        tuple(
            PreparedChunk(
                int(start), int(end), int(tokens), str(sections[section]), _number(page), _number(last), int(above)
            )
            for start, end, tokens, section, page, last, above in chunks
        ),
        tuple(
            Branch(str(title), str(abstract), str(embedded), _number(parent))
            for title, abstract, embedded, parent in branches
        ),
    )


def _batches(rows: Sequence[Any]) -> list[Sequence[Any]]:
    return [rows[first : first + _ROWS] for first in range(0, len(rows), _ROWS)]


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
