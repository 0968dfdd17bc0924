"""Deterministic identifiers: the same inputs name the same thing on every host and after every restart.

document_id   the place of a document: its scope and its source (path, URL or upload name). It outlives revisions.
revision      one state of its content as this build would store it: the hash of the file's bytes, the versions of
              parser and chunker, the embedding model, and the parameters that shaped the chunks. Equal revisions
              need no work; that is what makes re-ingesting a no-op.
chunk_id      one span of one revision of one document. The span and the ordinal are hashed and the text is not, so
              equal texts in one document, or in two, stay apart.
node_id       one node of the tree of one revision of one document: the document itself, or a section.

Each is the 160-bit BLAKE2b of its parts, personalised by its kind and written in 32 characters of lower-case base32
(`a-z2-7`): safe in URLs, file names, ArangoDB keys and shells, indifferent to case folding, without padding.
Among 2^40 identifiers the chance of any collision is about 2^-81. Every part is preceded by its length, so that
("ab", "c") and ("a", "bc") differ.
"""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Mapping

Parameter = str | int | float | bool | None
_DIGEST_BYTES = 20


def document_id(scope: str, source: str) -> str:
    """Return the identifier of the document that `scope` knows by the name `source`.

    The name is taken in Unicode's composed form, because file systems differ in how they spell the same one.
    """
    return _identifier(b"document", scope, unicodedata.normalize("NFC", source))


def content_hash(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def revision(
    content: str,
    *,
    parser_version: str,
    chunker_version: str,
    embedding_model: str,
    parameters: Mapping[str, Parameter],
) -> str:
    """Return the identifier of a content (its `content_hash`) as processed by these versions.

    `embedding_model` names the model with its revision. `parameters` are those that change what is stored, such as
    `max_tokens`; their order does not matter. Raises ValueError for a parameter that is not a finite number.
    """
    shape = json.dumps(dict(parameters), sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return _identifier(b"revision", content, parser_version, chunker_version, embedding_model, shape)


def chunk_id(document: str, of_revision: str, ordinal: int, char_start: int, char_end: int) -> str:
    """Return the identifier of the chunk `[char_start, char_end)`, the `ordinal`-th of its document's revision."""
    return _identifier(b"chunk", document, of_revision, str(ordinal), str(char_start), str(char_end))


def node_id(document: str, of_revision: str, ordinal: int) -> str:
    """Return the identifier of the `ordinal`-th node of the tree of a document's revision."""
    return _identifier(b"node", document, of_revision, str(ordinal))


def _identifier(kind: bytes, *parts: str) -> str:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES, person=b"sy:" + kind)
    for part in parts:
        # A file name may hold bytes that are not Unicode; they arrive as lone surrogates.
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return base64.b32encode(digest.digest()).decode("ascii").lower()
