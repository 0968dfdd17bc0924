"""Query text to abstract syntax, with ArangoDB's parse errors."""

import json
import math
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, UnexpectedToken, v_args
from lark.exceptions import VisitError

from tests.arangosim.aql import nodes as n
from tests.arangosim.errors import QUERY_EMPTY, QUERY_NUMBER_OUT_OF_RANGE, QUERY_PARSE, ArangoError

RESERVED = frozenset({"ALL", "NONE", "WINDOW", "SHORTEST_PATH", "ALL_SHORTEST_PATHS", "K_SHORTEST_PATHS", "K_PATHS"})

_LARK = Lark(
    (Path(__file__).parent / "grammar.lark").read_text(), parser="lalr", lexer="basic", maybe_placeholders=True
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.S)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@lru_cache(maxsize=512)
def parse(text: str) -> n.Query:
    """The query's syntax tree. Raises ArangoError 1501 with line and column, 1502 for an empty query."""
    if not text.strip():
        raise ArangoError(QUERY_EMPTY)
    try:
        query: n.Query = _Builder().transform(_LARK.parse(text))
    except UnexpectedInput as error:
        raise ArangoError(QUERY_PARSE, _described(text, error)) from error
    except VisitError as error:
        raise error.orig_exc from error
    return query


def _described(text: str, error: UnexpectedInput) -> str:
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return "syntax error, unexpected end of query string at position 0:0"
    near = text[error.pos_in_stream or 0 :].splitlines()[0][:40]
    return f"syntax error, unexpected input near '{near}' at position {error.line}:{error.column}"


def _unquoted(text: str) -> str:
    body = text[1:-1]
    if "\\" not in body:
        return body

    def replaced(match: re.Match[str]) -> str:
        code = match.group(1)
        return json.loads(f'"\\{code}"') if len(code) == 5 else _ESCAPED.get(code, code)

    return _ESCAPE.sub(replaced, body)


def _appended(base: n.Node, access: Any) -> n.Node:
    """`access` applied to `base`; after `[*]` it applies to each element."""
    if isinstance(base, n.Expansion):
        return n.Expansion(base.base, base.levels, base.condition, base.limit, _appended(base.element, access))
    return access(base)  # type: ignore[no-any-return]


@v_args(inline=True)
class _Builder(Transformer[Token, Any]):
    def start(self, query: n.Query) -> n.Query:
        return query

    def query(self, declared: Any, *statements: n.Node) -> n.Query:
        last = statements[-1]
        if not (isinstance(last, n.Return) or any(isinstance(s, n.Modification) for s in statements)):
            raise ArangoError(QUERY_PARSE, "syntax error, unexpected end of query string near '' at position 0:0")
        if any(isinstance(statement, n.Return) for statement in statements[:-1]):
            raise ArangoError(QUERY_PARSE, "syntax error, unexpected statement after RETURN")
        return n.Query(declared or (), statements)

    def with_clause(self, _with: Token, *names: n.CollectionName) -> tuple[n.CollectionName, ...]:
        return names

    def name(self, token: Token) -> str:
        if token.type == "QUOTED_NAME":
            return _unquoted(token)
        if token.upper() in RESERVED:
            raise ArangoError(
                QUERY_PARSE, f"syntax error, unexpected {token.upper()} at position {token.line}:{token.column}"
            )
        return str(token)

    def collection(self, name: str | Token) -> n.CollectionName:
        if isinstance(name, Token):
            if name.type == "COLLECTION_BIND":
                return n.CollectionName(name[2:], bound=True)
            return n.CollectionName(_unquoted(name))
        return n.CollectionName(name)

    # statements

    def variables(self, *names: str) -> tuple[str, ...]:
        return names

    def for_each(
        self, token: Token, variables: tuple[str, ...], _in: Token, source: n.Node, search: Any, options: Any
    ) -> n.ForEach:
        if len(variables) > 1:
            raise ArangoError(
                QUERY_PARSE, f"collections and views FOR loops only allow a single return variable near {token.line}"
            )
        return n.ForEach(variables[0], source, search, options)

    def traversal(
        self,
        token: Token,
        variables: tuple[str, ...],
        _in: Token,
        depth: Any,
        direction: str,
        start: n.Node,
        graph: Any,
        prune: Any,
        options: Any,
    ) -> n.Traversal:
        if len(variables) > 3:
            raise ArangoError(QUERY_PARSE, f"traversals only have one, two or three return variables near {token.line}")
        prune_variable, condition = prune or (None, None)
        return n.Traversal(variables, depth, direction, start, graph, prune_variable, condition, options)

    def search(self, _search: Token, condition: n.Node) -> n.Node:
        return condition

    def options(self, _options: Token, value: n.Node) -> n.Node:
        return value

    def direction(self, token: Token) -> str:
        return token.upper()

    def named_graph(self, _graph: Token, name: Any) -> n.Node:
        if isinstance(name, Token):
            return n.Bind(name[1:]) if name.type == "BIND" else n.Literal(_unquoted(name))
        return n.Literal(name)

    def anonymous_graph(self, *edges: n.EdgeCollection) -> tuple[n.EdgeCollection, ...]:
        return edges

    def edge_collection(self, direction: str | None, collection: n.CollectionName) -> n.EdgeCollection:
        return n.EdgeCollection(direction, collection)

    def prune(self, _prune: Token, name: str | None, condition: n.Node) -> tuple[str | None, n.Node]:
        return name, condition

    def let(self, _let: Token, *assignments: n.Assignment) -> n.Let:
        return n.Let(assignments)

    def assignment(self, name: str, value: n.Node) -> n.Assignment:
        return n.Assignment(name, value)

    def assignment_query(self, name: str, query: n.Query) -> n.Assignment:
        return n.Assignment(name, n.Subquery(query))

    def filter(self, _filter: Token, condition: n.Node) -> n.Filter:
        return n.Filter(condition)

    def sort(self, _sort: Token, *keys: n.SortKey) -> n.Sort:
        return n.Sort(keys)

    def sort_key(self, value: n.Node, direction: Token | None) -> n.SortKey:
        if direction is None:
            return n.SortKey(value, "ASC")
        return n.SortKey(value, n.Bind(direction[1:]) if direction.type == "BIND" else direction.upper())

    def limit(self, _limit: Token, first: n.Node, second: n.Node | None) -> n.Limit:
        return n.Limit(n.Literal(0), first) if second is None else n.Limit(first, second)

    def return_(self, _return: Token, distinct: Token | None, value: n.Node) -> n.Return:
        return n.Return(value, distinct is not None)

    def assignments(self, *assignments: n.Assignment) -> tuple[n.Assignment, ...]:
        return assignments

    def aggregate(self, _aggregate: Token, assignments: tuple[n.Assignment, ...]) -> tuple[n.Assignment, ...]:
        return assignments

    def into_groups(self, _into: Token, name: str, value: n.Node | None) -> tuple[str, str, n.Node | None]:
        return "groups", name, value

    def into_count(self, _with: Token, _count: Token, _into: Token, name: str) -> tuple[str, str, None]:
        return "count", name, None

    def keep(self, _keep: Token, *names: str) -> tuple[str, ...]:
        return names

    def collect(self, token: Token, groups: Any, aggregates: Any, into: Any, keep: Any, _options: Any) -> n.Collect:
        kind, name, value = into or (None, None, None)
        if not (groups or aggregates or kind):
            raise ArangoError(QUERY_PARSE, f"syntax error, unexpected end of COLLECT at position {token.line}:1")
        return n.Collect(
            groups or (),
            aggregates or (),
            name if kind == "groups" else None,
            value,
            name if kind == "count" else None,
            keep or (),
        )

    def insert(self, _insert: Token, document: n.Node, _in: Token, collection: Any, options: Any) -> n.Modification:
        return n.Modification("INSERT", document, collection, options)

    def update(
        self, token: Token, document: n.Node, _with: Any, patch: Any, _in: Token, collection: Any, options: Any
    ) -> n.Modification:
        return n.Modification(token.upper(), document, collection, options, patch=patch)

    replace = update

    def remove(self, _remove: Token, document: n.Node, _in: Token, collection: Any, options: Any) -> n.Modification:
        return n.Modification("REMOVE", document, collection, options)

    def upsert(
        self,
        _upsert: Token,
        search: n.Node,
        _insert: Token,
        insert: n.Node,
        action: Token,
        document: n.Node,
        _in: Token,
        collection: Any,
        options: Any,
    ) -> n.Modification:
        return n.Modification(
            "UPSERT",
            document,
            collection,
            options,
            search=search,
            insert=insert,
            upsert_replaces=action.upper() == "REPLACE",
        )

    # expressions

    def choice(self, condition: n.Node, then: n.Node, otherwise: n.Node) -> n.Choice:
        return n.Choice(condition, then, otherwise)

    def choice_short(self, condition: n.Node, otherwise: n.Node) -> n.Choice:
        return n.Choice(condition, None, otherwise)

    def binary(self, left: n.Node, operator: Token, right: n.Node) -> n.Binary:
        name = re.sub(r"\s+", " ", operator.upper())
        return n.Binary({"&&": "AND", "||": "OR"}.get(name, name), left, right)

    def quantified(self, left: n.Node, operator: Token, right: n.Node) -> n.Quantified:
        quantifier = re.match(r"ANY|ALL|NONE", operator.upper())
        assert quantifier is not None
        rest = re.sub(r"\s+", " ", operator.upper()[quantifier.end() :]).strip()
        return n.Quantified(quantifier.group(), rest, left, right)

    def range_(self, first: n.Node, last: n.Node) -> n.Binary:
        return n.Binary("..", first, last)

    def unary_(self, operator: Token, operand: n.Node) -> n.Unary:
        return n.Unary("NOT" if operator == "!" else operator.upper(), operand)

    def attribute(self, base: n.Node, name: str) -> n.Node:
        return _appended(base, lambda node: n.Attribute(node, name))

    def bound_attribute(self, base: n.Node, token: Token) -> n.Node:
        return _appended(base, lambda node: n.Attribute(node, n.Bind(token[1:])))

    def index(self, base: n.Node, position: n.Node) -> n.Node:
        return _appended(base, lambda node: n.Index(node, position))

    def expansion(self, base: n.Node, stars: Token, condition: Any, limit: Any, projection: Any) -> n.Node:
        def expanded(node: n.Node) -> n.Node:
            return n.Expansion(
                node, len(stars), condition and condition.condition, limit, projection or n.Reference("CURRENT")
            )

        return _appended(base, expanded)

    def inline_return(self, _return: Token, value: n.Node) -> n.Node:
        return value

    def parenthesised(self, value: n.Node) -> n.Node:
        # A parenthesis ends the element-wise reach of `[*]`; this choice keeps the value and is no Expansion.
        return n.Choice(n.Literal(True), value, value) if isinstance(value, n.Expansion) else value

    def subquery(self, query: n.Query) -> n.Subquery:
        return n.Subquery(query)

    def reference(self, name: str) -> n.Reference:
        return n.Reference(name)

    def function_name(self, *parts: str) -> str:
        return "::".join(parts).upper()

    def call(self, name: str, *arguments: n.Node | None) -> n.Call:
        return n.Call(name, tuple(argument for argument in arguments if argument is not None))

    def array(self, *items: n.Node | None) -> n.Array:
        return n.Array(tuple(item for item in items if item is not None))

    def object(self, *members: Any) -> n.Object:
        return n.Object(tuple(member for member in members if member is not None))

    def named_member(self, name: str, value: n.Node) -> tuple[n.Node, n.Node]:
        return n.Literal(name), value

    def string_member(self, token: Token, value: n.Node) -> tuple[n.Node, n.Node]:
        return n.Literal(_unquoted(token)), value

    def bound_member(self, token: Token, value: n.Node) -> tuple[n.Node, n.Node]:
        return n.Bind(token[1:]), value

    def computed_member(self, name: n.Node, value: n.Node) -> tuple[n.Node, n.Node]:
        return name, value

    def short_member(self, name: str) -> tuple[n.Node, n.Node]:
        return n.Literal(name), n.Reference(name)

    def value_bind(self, token: Token) -> n.Bind:
        return n.Bind(token[1:])

    def collection_bind(self, token: Token) -> n.CollectionName:
        return n.CollectionName(token[2:], bound=True)

    def number(self, token: Token) -> n.Literal:
        value = float(token)
        if math.isinf(value):
            raise ArangoError(QUERY_NUMBER_OUT_OF_RANGE, token)
        return n.Literal(value if re.search(r"[.eE]", token) else int(token))

    def string(self, token: Token) -> n.Literal:
        return n.Literal(_unquoted(token))

    def true(self, _token: Token) -> n.Literal:
        return n.Literal(True)

    def false(self, _token: Token) -> n.Literal:
        return n.Literal(False)

    def null(self, _token: Token) -> n.Literal:
        return n.Literal(None)
