"""The token streams of ArangoDB's analyzer types. A token is a term with its position."""

import unicodedata
from collections.abc import Callable
from typing import Any, NamedTuple

import regex

from tests.arangosim.errors import BAD_PARAMETER, ArangoError
from tests.arangosim.stemming import stem

_WORD_BREAK = regex.compile(r"(?w)\b")
_CASES: dict[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper, "none": str}


class Token(NamedTuple):
    """Position counts words of the field from 0."""

    term: str
    position: int


Tokenizer = Callable[[str], list[Token]]
Properties = dict[str, Any]


def _case(properties: Properties, default: str) -> Callable[[str], str]:
    name = properties.get("case", default)
    if name not in _CASES:
        raise ArangoError(BAD_PARAMETER, f"analyzer property case is {name!r}")
    return _CASES[name]


def without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if unicodedata.category(c) != "Mn"))


def words(text: str, keep: Callable[[str], bool]) -> list[str]:
    """The pieces between Unicode's word boundaries (UAX #29) that `keep` accepts."""
    return [piece for piece in _WORD_BREAK.split(text) if piece and keep(piece)]


def has_letter_or_digit(piece: str) -> bool:
    return any(character.isalnum() for character in piece)


def _numbered(terms: list[str]) -> list[Token]:
    return [Token(term, position) for position, term in enumerate(terms)]


def identity(_properties: Properties) -> Tokenizer:
    return lambda text: [Token(text, 0)]


def delimiter(properties: Properties) -> Tokenizer:
    separator = properties.get("delimiter")
    if not isinstance(separator, str) or not separator:
        raise ArangoError(BAD_PARAMETER, "analyzer property delimiter is missing")
    return lambda text: _numbered(text.split(separator))


def norm(properties: Properties) -> Tokenizer:
    locale_of(properties)
    case, accent = _case(properties, "none"), properties.get("accent", True)
    return lambda text: [Token(case(text if accent else without_accents(text)), 0)]


def stem_only(properties: Properties) -> Tokenizer:
    locale = locale_of(properties)
    return lambda text: [Token(stem(text, locale), 0)]


def stopwords(properties: Properties) -> Tokenizer:
    dropped = frozenset(properties.get("stopwords", ()))
    return lambda text: [] if text in dropped else [Token(text, 0)]


def segmentation(properties: Properties) -> Tokenizer:
    kept = {
        "all": lambda _piece: True,
        "graphic": lambda piece: not piece.isspace(),
        "alpha": has_letter_or_digit,
    }.get(properties.get("break", "alpha"))
    if kept is None:
        raise ArangoError(BAD_PARAMETER, f"analyzer property break is {properties['break']!r}")
    case = _case(properties, "lower")
    return lambda text: _numbered([case(piece) for piece in words(text, kept)])


def text(properties: Properties) -> Tokenizer:
    locale = locale_of(properties)
    case, accent = _case(properties, "lower"), properties.get("accent", False)
    stemming = properties.get("stemming", True)
    dropped = frozenset(properties.get("stopwords", ()))
    edges = properties.get("edgeNgram")

    def tokenize(value: str) -> list[Token]:
        tokens = []
        for position, piece in enumerate(words(value, has_letter_or_digit)):
            term = case(piece if accent else without_accents(piece))
            if term in dropped:
                continue
            term = stem(term, locale) if stemming else term
            tokens += [Token(part, position) for part in (_edges(term, edges) if edges else [term])]
        return tokens

    return tokenize


def _edges(term: str, edges: Properties) -> list[str]:
    low, high = edges.get("min", 1), edges.get("max", len(term))
    parts = [term[:size] for size in range(low, min(high, len(term)) + 1)]
    return [*parts, term] if edges.get("preserveOriginal") and term not in parts else parts


def ngram(properties: Properties) -> Tokenizer:
    low, high = properties.get("min"), properties.get("max")
    if not isinstance(low, int) or not isinstance(high, int) or not 1 <= low <= high:
        raise ArangoError(BAD_PARAMETER, f"analyzer properties min and max are {low!r} and {high!r}")
    original = bool(properties.get("preserveOriginal", False))
    start, end = properties.get("startMarker", ""), properties.get("endMarker", "")

    def tokenize(value: str) -> list[Token]:
        marked = f"{start}{value}{end}"
        tokens = [
            Token(marked[first : first + size], first)
            for first in range(len(marked))
            for size in range(low, high + 1)
            if first + size <= len(marked)
        ]
        terms = {token.term for token in tokens}
        return [*tokens, Token(value, 0)] if original and value not in terms else tokens

    return tokenize


def pipeline(properties: Properties) -> Tokenizer:
    steps = properties.get("pipeline")
    if not isinstance(steps, list) or not steps:
        raise ArangoError(BAD_PARAMETER, "analyzer property pipeline is missing")
    if not all(isinstance(step, dict) for step in steps):
        raise ArangoError(BAD_PARAMETER, "analyzer property pipeline must be an array of objects")
    stages = [tokenizer(step.get("type", ""), step.get("properties") or {}) for step in steps]

    def tokenize(value: str) -> list[Token]:
        terms = [value]
        positions = [0]
        for stage in stages:
            grown = [
                (token.term, outer if len(terms) > 1 else token.position)
                for term, outer in zip(terms, positions, strict=True)
                for token in stage(term)
            ]
            terms, positions = [term for term, _ in grown], [position for _, position in grown]
        return [Token(term, position) for term, position in zip(terms, positions, strict=True)]

    return tokenize


def locale_of(properties: Properties) -> str:
    """Raises ArangoError 10 when the locale is missing."""
    locale = properties.get("locale")
    if not isinstance(locale, str) or not locale:
        raise ArangoError(BAD_PARAMETER, "analyzer property locale is missing")
    return locale


TYPES: dict[str, Callable[[Properties], Tokenizer]] = {
    "identity": identity,
    "delimiter": delimiter,
    "norm": norm,
    "stem": stem_only,
    "stopwords": stopwords,
    "segmentation": segmentation,
    "text": text,
    "ngram": ngram,
    "pipeline": pipeline,
}


def tokenizer(kind: str, properties: Properties) -> Tokenizer:
    """Raises ArangoError 10 for an unknown type or wrong properties."""
    if not isinstance(properties, dict):
        raise ArangoError(BAD_PARAMETER, f"analyzer properties are {properties!r}")
    if kind not in TYPES:
        raise ArangoError(BAD_PARAMETER, f"analyzer type {kind!r} is unknown to this server")
    return TYPES[kind](properties)
