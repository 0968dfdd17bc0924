"""The canonical form of stored text, to which every span refers.

What changes, and why nothing a reader could see is lost:
* line ends become LF (a span must not depend on the platform that wrote the file); vertical tab and form feed too;
* NUL, other control characters and the non-characters U+FFFE/U+FFFF go: they have no glyph, and JSON, XML, SQLite
  and ArangoDB disagree about them; lone surrogates become U+FFFD, since they cannot be stored as UTF-8;
* soft hyphens go: they are invisible and would divide words for lexical search;
* a base character followed by combining marks is composed (u + diaeresis -> ü; also Hangul jamo). Full NFC is *not*
  applied: it also replaces characters that have no combining marks by look-alikes (the CJK compatibility ideographs
  in Japanese personal names, Ohm and Angstrom signs) and cannot be undone.
"""

from __future__ import annotations

import unicodedata

import regex

_LINE_ENDS = regex.compile(r"\r\n?|[\v\f]")
_DROPPED = regex.compile(r"[\x00-\x08\x0e-\x1f\x7f\xad\ufffe\uffff]")
_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_DECOMPOSED = regex.compile(r"[^\p{M}]\p{M}+|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?")


def canonical_text(text: str) -> str:
    """Return `text` in canonical form; applying it twice changes nothing."""
    text = _LINE_ENDS.sub("\n", text)
    text = _DROPPED.sub("", text)
    text = _SURROGATE.sub("\ufffd", text)
    if unicodedata.is_normalized("NFC", text):
        return text
    composed: str = _DECOMPOSED.sub(lambda match: _compose(match[0]), text)
    return composed


def _compose(cluster: str) -> str:
    if not unicodedata.is_normalized("NFC", cluster[0]):
        return cluster
    return unicodedata.normalize("NFC", cluster)
