"""What a view has indexed of one document, and the counts over all documents that scoring needs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.arangosim.analyzers import Analyzer, Analyzers
from tests.arangosim.documents import Document
from tests.arangosim.tokenizers import Token

Field = tuple[str, str]
_INTERNAL = frozenset({"_rev", "_id"})


@dataclass
class IndexedDocument:
    """`tokens` by (attribute path, analyzer name); `values` are the numbers, booleans and nulls by path."""

    collection: str
    source: Document
    tokens: dict[Field, list[Token]] = field(default_factory=dict)
    values: dict[str, list[Any]] = field(default_factory=dict)
    frequencies: dict[Field, Counter[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.frequencies = {name: Counter(token.term for token in tokens) for name, tokens in self.tokens.items()}

    def positions(self, name: Field, term: str) -> set[int]:
        return {token.position for token in self.tokens.get(name, ()) if token.term == term}


def indexed(collection: str, document: Document, link: dict[str, Any], analyzers: Analyzers) -> IndexedDocument:
    """Index the attributes that the link names."""
    tokens: dict[Field, list[Token]] = {}
    values: dict[str, list[Any]] = {}
    for path, value, names in _linked(document, link, ["identity"], ""):
        if isinstance(value, str):
            for name in names:
                analyzer: Analyzer = analyzers.required(name)
                known = tokens.setdefault((path, analyzer.name), [])
                # A gap keeps phrases from spanning two array elements.
                offset = known[-1].position + 100 if known else 0
                known += [Token(token.term, token.position + offset) for token in analyzer.tokens(value)]
        else:
            values.setdefault(path, []).append(value)
    return IndexedDocument(collection, document, tokens, values)


def _linked(value: Any, link: dict[str, Any], inherited: list[str], path: str) -> Iterator[tuple[str, Any, list[str]]]:
    analyzers = link.get("analyzers") or inherited
    if isinstance(value, list):
        for item in value:
            yield from _linked(item, link, inherited, path)
    elif isinstance(value, dict):
        fields = link.get("fields") or {}
        for name, inner in value.items():
            if name in fields:
                yield from _linked(inner, fields[name], analyzers, f"{path}.{name}" if path else name)
            elif link.get("includeAllFields") and name not in _INTERNAL:
                nested = {"includeAllFields": True, "analyzers": analyzers}
                yield from _linked(inner, nested, analyzers, f"{path}.{name}" if path else name)
    elif path:
        yield path, value, analyzers


class Counts:
    """Document counts, term counts and total lengths over one committed state."""

    def __init__(self, documents: list[IndexedDocument]) -> None:
        self._with_field: Counter[Field] = Counter()
        self._with_term: Counter[tuple[Field, str]] = Counter()
        self._tokens: Counter[Field] = Counter()
        for document in documents:
            for name, frequencies in document.frequencies.items():
                self._with_field[name] += 1
                self._tokens[name] += sum(frequencies.values())
                self._with_term.update((name, term) for term in frequencies)

    def documents(self, name: Field) -> int:
        return self._with_field[name]

    def documents_with(self, name: Field, term: str) -> int:
        return self._with_term[name, term]

    def average_length(self, name: Field) -> float:
        return self._tokens[name] / self._with_field[name] if self._with_field[name] else 0.0
