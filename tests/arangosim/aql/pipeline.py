"""Statements executed as a chain of generators over rows."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from tests.arangosim.aql import nodes as n
from tests.arangosim.aql import vector_rule
from tests.arangosim.aql.collect import collected
from tests.arangosim.aql.context import QueryContext, Row, visible
from tests.arangosim.aql.expressions import Compiler
from tests.arangosim.aql.modify import modified
from tests.arangosim.aql.search import searched
from tests.arangosim.aql.traversal import traversed
from tests.arangosim.errors import (
    QUERY_ACCESS_AFTER_MODIFICATION,
    QUERY_ARRAY_EXPECTED,
    QUERY_NUMBER_OUT_OF_RANGE,
    QUERY_PARSE,
    ArangoError,
)
from tests.arangosim.values import is_number, is_true, sort_keys, unique
from tests.arangosim.vector_index import VectorIndex

Rows = Iterable[Row]


class Pipeline:
    """Runs one query and, recursively, its subqueries."""

    def __init__(self, context: QueryContext) -> None:
        self.context = context
        self.compiler = Compiler(context, self.run)

    def run(self, query: n.Query, outer: Row) -> list[Any]:
        """The query's result values; empty when it returns nothing."""
        statements = query.statements
        vector = vector_rule.plan(statements, self.context.database)
        rows: Rows = [outer]
        position = 0
        results: list[Any] = []
        loops = [i for i, statement in enumerate(statements) if isinstance(statement, n.ForEach | n.Traversal)]
        base = outer
        while position < len(statements):
            statement = statements[position]
            if loops and position == loops[0]:
                rows = list(rows)
                base = rows[0] if rows else outer
            if vector is not None and position == vector[0]:
                rows = self._near(vector[1], rows)
                position += vector[1].statements
                continue
            if isinstance(statement, n.Collect):
                rows = collected(statement, rows, base, self.context, self.compiler)
            elif isinstance(statement, n.Return):
                results = self._returned(statement, rows)
                rows = []
            else:
                rows = self._statement(statement, rows, last_limit=self._is_last_limit(statements, position))
            position += 1
        for _ in rows:
            pass
        return results

    def _statement(self, node: n.Node, rows: Rows, *, last_limit: bool) -> Rows:
        if isinstance(node, n.ForEach):
            return self._for_each(node, rows)
        if isinstance(node, n.Traversal):
            return traversed(node, rows, self.context, self.compiler)
        if isinstance(node, n.Let):
            return self._let(node, rows)
        if isinstance(node, n.Filter):
            return self._filter(node, rows)
        if isinstance(node, n.Sort):
            return self._sort(node, rows)
        if isinstance(node, n.Limit):
            return self._limit(node, rows, count_all=last_limit and bool(self.context.options.get("fullCount")))
        assert isinstance(node, n.Modification)
        return modified(node, rows, self.context, self.compiler)

    @staticmethod
    def _is_last_limit(statements: tuple[n.Node, ...], position: int) -> bool:
        return not any(isinstance(later, n.Limit) for later in statements[position + 1 :])

    def _for_each(self, node: n.ForEach, rows: Rows) -> Iterator[Row]:
        view, collection = self._named(node.source)
        if view is not None:
            yield from searched(node, view, rows, self.context, self.compiler)
            return
        source = None if collection is not None else self.compiler.compile(node.source)
        for row in rows:
            if collection is not None and not (isinstance(node.source, n.Reference) and node.source.name in row):
                if collection in self.context.modified:
                    raise ArangoError(QUERY_ACCESS_AFTER_MODIFICATION, f"on collection {collection}")
                items: Any = list(self.context.collection(collection).documents.values())
                self.context.statistics.scanned_full += len(items)
            else:
                items = source(row) if source is not None else row[node.source.name]  # type: ignore[attr-defined]
                if not isinstance(items, list):
                    raise ArangoError(QUERY_ARRAY_EXPECTED, "FOR loop over a value that is no array")
            for item in items:
                self.context.check_runtime()
                yield row | {node.variable: item}

    def _named(self, source: n.Node) -> tuple[str | None, str | None]:
        """The view or the collection that a FOR reads, if it reads one."""
        if not isinstance(source, n.CollectionName | n.Reference):
            return None, None
        name = source.name
        if name in self.context.database.views:
            return name, None
        return None, name if name in self.context.database.collections else None

    def _let(self, node: n.Let, rows: Rows) -> Iterator[Row]:
        assignments = [(assignment.name, self.compiler.compile(assignment.value)) for assignment in node.assignments]
        for row in rows:
            extended = dict(row)
            for name, evaluate in assignments:
                extended[name] = evaluate(extended)
            yield extended

    def _filter(self, node: n.Filter, rows: Rows) -> Iterator[Row]:
        condition = self.compiler.compile(node.condition)
        for row in rows:
            if is_true(condition(row)):
                yield row
            else:
                self.context.statistics.filtered += 1

    def _sort(self, node: n.Sort, rows: Rows) -> Iterator[Row]:
        ordered = list(rows)
        for row in ordered:
            self.context.hold(visible(row))
        for key in reversed(node.keys):
            evaluate = self.compiler.compile(key.value)
            keys = sort_keys([evaluate(row) for row in ordered])
            descending = key.direction == "DESC"
            order = sorted(range(len(ordered)), key=keys.__getitem__, reverse=descending)
            ordered = [ordered[position] for position in order]
        return iter(ordered)

    def _limit(self, node: n.Limit, rows: Rows, *, count_all: bool) -> Iterator[Row]:
        offset, count = self.limits(node)
        seen = 0
        for row in rows:
            seen += 1
            if offset < seen <= offset + count:
                yield row
            elif seen > offset + count and not count_all:
                return
        if count_all:
            self.context.statistics.full_count = seen

    def limits(self, node: n.Limit) -> tuple[int, int]:
        """Offset and count, which are constants; a count of null is unlimited. Raises ArangoError 1501, 1504."""
        for part in (node.offset, node.count):
            if any(isinstance(inner, n.Reference | n.Subquery) for inner in part.walk()):
                raise ArangoError(QUERY_PARSE, "LIMIT takes constants only")
        offset, count = self.compiler.compile(node.offset)({}), self.compiler.compile(node.count)({})
        values = [0 if offset is None else offset, sys.maxsize if count is None else count]
        for value in values:
            if not is_number(value) or value < 0:
                raise ArangoError(QUERY_NUMBER_OUT_OF_RANGE, f"LIMIT value is {value!r}")
        return int(values[0]), int(values[1])

    def _returned(self, node: n.Return, rows: Rows) -> list[Any]:
        evaluate = self.compiler.compile(node.value)
        values = []
        for row in rows:
            self.context.check_runtime()
            values.append(self.context.hold(evaluate(row)))
        return unique(values) if node.distinct else values

    def _near(self, search: vector_rule.VectorSearch, rows: Rows) -> Iterator[Row]:
        offset, count = self.limits(search.limit)
        query = self.compiler.compile(search.query)
        condition = self.compiler.optional(search.condition)
        lets = [(let.name, self.compiler.compile(let.value)) for let in search.lets]
        collection = self.context.collection(search.collection)
        index = collection.find_index(search.index_name)
        assert isinstance(index, VectorIndex)
        for row in rows:
            self.context.check_runtime()

            def accepts(key: str, row: Row = row) -> bool:
                self.context.statistics.scanned_index += 1
                return condition is None or is_true(condition(row | {search.variable: collection.documents[key]}))

            found = list(index.search(query(row), offset + count, search.n_probe, accepts))
            for key, score in found:
                extended = row | {search.variable: collection.documents[key]}
                if search.score_name is not None:
                    extended[search.score_name] = score
                for name, evaluate in lets:
                    extended[name] = evaluate(extended)
                yield extended
