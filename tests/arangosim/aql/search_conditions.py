"""SEARCH conditions compiled to matchers over indexed documents.

A matcher answers None for no match, else the terms that matched, for scoring. Attributes are compared with indexed
terms under the analyzer in force (ANALYZER, by default identity), never with the stored text.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.arangosim.analyzers import Analyzer, Analyzers
from tests.arangosim.aql import nodes as n
from tests.arangosim.aql.context import Row
from tests.arangosim.aql.expressions import Compiler
from tests.arangosim.aql.operators import like
from tests.arangosim.aql.scoring import Hit
from tests.arangosim.errors import BAD_PARAMETER, QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH, ArangoError
from tests.arangosim.inverted import IndexedDocument
from tests.arangosim.values import compare, is_true, type_rank

Hits = tuple[Hit, ...]
Matcher = Callable[[IndexedDocument, Row], Hits | None]
_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ORDERED: dict[str, Callable[[int], bool]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


class SearchCompiler:
    """Compiles the condition of one FOR over a view, whose variable is `variable`."""

    def __init__(self, variable: str, compiler: Compiler, analyzers: Analyzers) -> None:
        self._variable = variable
        self._compiler = compiler
        self._analyzers = analyzers
        self._functions: dict[str, Callable[[n.Call, Analyzer, float], Matcher]] = {
            "ANALYZER": self._analyzer,
            "BOOST": self._boost,
            "PHRASE": self._phrase,
            "STARTS_WITH": self._starts_with,
            "MIN_MATCH": self._min_match,
            "EXISTS": self._exists,
            "IN_RANGE": self._in_range,
            "LIKE": self._like,
            "NGRAM_MATCH": self._ngram_match,
        }

    def compile(self, node: n.Node) -> Matcher:
        return self._condition(node, self._analyzers.required("identity"), 1.0)

    def _condition(self, node: n.Node, analyzer: Analyzer, boost: float) -> Matcher:
        if isinstance(node, n.Binary) and node.operator in ("AND", "OR"):
            left = self._condition(node.left, analyzer, boost)
            right = self._condition(node.right, analyzer, boost)
            return _both(left, right) if node.operator == "AND" else _either([left, right], 1)
        if isinstance(node, n.Unary) and node.operator == "NOT":
            inner = self._condition(node.operand, analyzer, boost)
            return lambda document, row: () if inner(document, row) is None else None
        if isinstance(node, n.Binary):
            return self._comparison(node, analyzer, boost)
        if isinstance(node, n.Quantified):
            return self._quantified(node, analyzer, boost)
        if isinstance(node, n.Call) and node.name in self._functions:
            return self._functions[node.name](node, analyzer, boost)
        if self._mentions(node):
            raise ArangoError(BAD_PARAMETER, f"this expression cannot be used in SEARCH: {type(node).__name__}")
        constant = self._compiler.compile(node)
        return lambda _document, row: () if is_true(constant(row)) else None

    def _mentions(self, node: n.Node) -> bool:
        return n.Reference(self._variable) in node.walk()

    def _path(self, node: n.Node) -> str | None:
        if isinstance(node, n.Attribute) and n.Reference(self._variable) in node.walk():
            name = str(node.name)
            if node.base == n.Reference(self._variable):
                return name
            outer = self._path(node.base)
            return None if outer is None else f"{outer}.{name}"
        return None

    def _required_path(self, node: n.Node, function: str) -> str:
        path = self._path(node)
        if path is None:
            raise ArangoError(QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH, f"'{function}()': the attribute path is missing")
        return path

    def _comparison(self, node: n.Binary, analyzer: Analyzer, boost: float) -> Matcher:
        path, other, operator = self._path(node.left), node.right, node.operator
        if path is None and operator in _FLIPPED:
            path, other, operator = self._path(node.right), node.left, _FLIPPED[operator]
        if path is None:
            if self._mentions(node):
                raise ArangoError(BAD_PARAMETER, f"{operator} in SEARCH needs an attribute of {self._variable}")
            constant = self._compiler.compile(node)
            return lambda _document, row: () if is_true(constant(row)) else None
        value = self._compiler.compile(other)
        if operator in ("==", "!="):
            equal = _equals(path, analyzer, boost)
            if operator == "==":
                return lambda document, row: equal(document, value(row))
            return lambda document, row: () if equal(document, value(row)) is None else None
        if operator in ("IN", "NOT IN"):
            among = _among(path, analyzer, boost)
            if operator == "IN":
                return lambda document, row: among(document, value(row))
            return lambda document, row: () if among(document, value(row)) is None else None
        if operator == "LIKE":
            return lambda document, row: _term_where(document, path, analyzer, boost, lambda t: like(t, value(row)))
        if operator in _ORDERED:
            holds = _ORDERED[operator]
            return lambda document, row: _ordered(document, path, analyzer, boost, value(row), holds)
        raise ArangoError(BAD_PARAMETER, f"{operator} cannot be used in SEARCH")

    def _quantified(self, node: n.Quantified, analyzer: Analyzer, boost: float) -> Matcher:
        path = self._path(node.right)
        if path is None or node.operator != "==":
            raise ArangoError(BAD_PARAMETER, "a quantified comparison in SEARCH is `array ALL|ANY|NONE == attribute`")
        values = self._compiler.compile(node.left)
        equal = _equals(path, analyzer, boost)

        def match(document: IndexedDocument, row: Row) -> Hits | None:
            found = [equal(document, value) for value in values(row) or []]
            hits = tuple(hit for one in found if one is not None for hit in one)
            present = sum(one is not None for one in found)
            if node.quantifier == "NONE":
                return () if present == 0 else None
            return hits if (present == len(found) if node.quantifier == "ALL" else present > 0) else None

        return match

    def _analyzer(self, node: n.Call, _analyzer: Analyzer, boost: float) -> Matcher:
        return self._condition(node.arguments[0], self._named(node.arguments[1]), boost)

    def _named(self, node: n.Node) -> Analyzer:
        return self._analyzers.required(self._compiler.compile(node)({}))

    def _boost(self, node: n.Call, analyzer: Analyzer, boost: float) -> Matcher:
        return self._condition(
            node.arguments[0], analyzer, boost * float(self._compiler.compile(node.arguments[1])({}))
        )

    def _phrase(self, node: n.Call, analyzer: Analyzer, boost: float) -> Matcher:
        """`PHRASE(path, text [, skip, text]* [, analyzer])`, or the parts in one array."""
        path = self._required_path(node.arguments[0], "PHRASE")
        rest = list(node.arguments[1:])
        if len(rest) % 2 == 0:
            analyzer = self._named(rest.pop())
        parts = [self._compiler.compile(part) for part in rest]
        name = (path, analyzer.name)

        def match(document: IndexedDocument, row: Row) -> Hits | None:
            given = [part(row) for part in parts]
            flat = [item for part in given for item in (part if isinstance(part, list) else [part])]
            wanted = _phrase_terms(flat, analyzer)
            if not wanted or not {"frequency", "position"} <= analyzer.features:
                return None
            starts = document.positions(name, wanted[0][0])
            for term, offset in wanted[1:]:
                starts &= {position - offset for position in document.positions(name, term)}
            return tuple(Hit(name, term, boost, analyzer) for term, _ in wanted) if starts else None

        return match

    def _starts_with(self, node: n.Call, analyzer: Analyzer, boost: float) -> Matcher:
        path = self._required_path(node.arguments[0], "STARTS_WITH")
        prefixes = self._compiler.compile(node.arguments[1])
        least = self._compiler.compile(node.arguments[2]) if len(node.arguments) > 2 else None

        def match(document: IndexedDocument, row: Row) -> Hits | None:
            given = prefixes(row)
            wanted = given if isinstance(given, list) else [given]
            found = [
                _term_where(document, path, analyzer, boost, lambda term, prefix=prefix: term.startswith(prefix))  # type: ignore[misc]
                for prefix in wanted
            ]
            hits = tuple(hit for one in found if one is not None for hit in one)
            return hits if sum(one is not None for one in found) >= (least(row) if least else 1) else None

        return match

    def _min_match(self, node: n.Call, analyzer: Analyzer, boost: float) -> Matcher:
        least = int(self._compiler.compile(node.arguments[-1])({}))
        return _either([self._condition(part, analyzer, boost) for part in node.arguments[:-1]], least)

    def _exists(self, node: n.Call, _analyzer: Analyzer, _boost: float) -> Matcher:
        path = self._required_path(node.arguments[0], "EXISTS")
        prefix = f"{path}."

        def match(document: IndexedDocument, _row: Row) -> Hits | None:
            known = {name for name, _ in document.tokens} | document.values.keys()
            return () if any(name == path or name.startswith(prefix) for name in known) else None

        return match

    def _in_range(self, node: n.Call, analyzer: Analyzer, boost: float) -> Matcher:
        path = self._required_path(node.arguments[0], "IN_RANGE")
        bounds = [self._compiler.compile(argument) for argument in node.arguments[1:]]

        def match(document: IndexedDocument, row: Row) -> Hits | None:
            low, high, with_low, with_high = (bound(row) for bound in bounds)
            above = _ordered(document, path, analyzer, boost, low, _ORDERED[">=" if with_low else ">"])
            below = _ordered(document, path, analyzer, boost, high, _ORDERED["<=" if with_high else "<"])
            return None if above is None or below is None else above

        return match

    def _like(self, node: n.Call, analyzer: Analyzer, boost: float) -> Matcher:
        path = self._required_path(node.arguments[0], "LIKE")
        pattern = self._compiler.compile(node.arguments[1])
        return lambda document, row: _term_where(document, path, analyzer, boost, lambda term: like(term, pattern(row)))

    def _ngram_match(self, node: n.Call, analyzer: Analyzer, boost: float) -> Matcher:
        """The share of the target's n-grams that the attribute has, at least `threshold` (0.7)."""
        path = self._required_path(node.arguments[0], "NGRAM_MATCH")
        target = self._compiler.compile(node.arguments[1])
        rest = [self._compiler.compile(argument)({}) for argument in node.arguments[2:]]
        threshold = next((value for value in rest if not isinstance(value, str)), 0.7)
        named = next((value for value in rest if isinstance(value, str)), None)
        analyzer = analyzer if named is None else self._analyzers.required(named)

        def match(document: IndexedDocument, row: Row) -> Hits | None:
            wanted = analyzer.terms(target(row))
            frequencies = document.frequencies.get((path, analyzer.name), Counter())
            found = [term for term in wanted if term in frequencies]
            if not wanted or len(found) / len(wanted) < threshold:
                return None
            return tuple(Hit((path, analyzer.name), term, boost, analyzer) for term in dict.fromkeys(found))

        return match


def _both(left: Matcher, right: Matcher) -> Matcher:
    def match(document: IndexedDocument, row: Row) -> Hits | None:
        first = left(document, row)
        second = None if first is None else right(document, row)
        return None if first is None or second is None else first + second

    return match


def _either(parts: list[Matcher], least: int) -> Matcher:
    def match(document: IndexedDocument, row: Row) -> Hits | None:
        found = [hits for part in parts if (hits := part(document, row)) is not None]
        return tuple(hit for hits in found for hit in hits) if len(found) >= least else None

    return match


def _equals(path: str, analyzer: Analyzer, boost: float) -> Callable[[IndexedDocument, Any], Hits | None]:
    name = (path, analyzer.name)

    def match(document: IndexedDocument, value: Any) -> Hits | None:
        if isinstance(value, str):
            known = value in document.frequencies.get(name, {})
            return (Hit(name, value, boost, analyzer),) if known else None
        return () if any(compare(known, value) == 0 for known in document.values.get(path, ())) else None

    return match


def _among(path: str, analyzer: Analyzer, boost: float) -> Callable[[IndexedDocument, Any], Hits | None]:
    equal = _equals(path, analyzer, boost)

    def match(document: IndexedDocument, values: Any) -> Hits | None:
        found = [equal(document, value) for value in (values if isinstance(values, list) else [])]
        present = [hits for hits in found if hits is not None]
        return tuple(hit for hits in present for hit in hits) if present else None

    return match


def _term_where(
    document: IndexedDocument, path: str, analyzer: Analyzer, boost: float, accepts: Callable[[str], bool]
) -> Hits | None:
    name = (path, analyzer.name)
    found = [term for term in document.frequencies.get(name, {}) if accepts(term)]
    return tuple(Hit(name, term, boost, analyzer) for term in found) if found else None


def _ordered(
    document: IndexedDocument, path: str, analyzer: Analyzer, boost: float, value: Any, holds: Callable[[int], bool]
) -> Hits | None:
    if isinstance(value, str):
        return _term_where(document, path, analyzer, boost, lambda term: holds(compare(term, value)))
    known = [item for item in document.values.get(path, ()) if type_rank(item) == type_rank(value)]
    return () if any(holds(compare(item, value)) for item in known) else None


def _phrase_terms(parts: list[Any], analyzer: Analyzer) -> list[tuple[str, int]]:
    """Each term with its distance from the first; a number between texts skips as many positions."""
    wanted: list[tuple[str, int]] = []
    offset = 0
    for part in parts:
        if isinstance(part, str):
            tokens = analyzer.tokens(part)
            wanted += [(token.term, offset + token.position) for token in tokens]
            offset += max((token.position for token in tokens), default=-1) + 1
        else:
            offset += int(part)
    return wanted
