"""A query from text to result: parse, check, plan, run in a transaction of its own or in the given one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.arangosim.aql import nodes as n
from tests.arangosim.aql import vector_rule
from tests.arangosim.aql.binding import bound
from tests.arangosim.aql.checks import check_functions, check_names
from tests.arangosim.aql.context import Limits, QueryContext
from tests.arangosim.aql.parser import parse
from tests.arangosim.aql.pipeline import Pipeline
from tests.arangosim.transactions import DataAccess, DirectReads, Transaction

if TYPE_CHECKING:
    from tests.arangosim.state import Database


@dataclass(frozen=True)
class Result:
    """The rows and the `extra` of the cursor reply."""

    rows: list[Any]
    extra: dict[str, Any]


def checked_query(text: str, binds: dict[str, Any], database: "Database") -> n.Query:
    """The parsed query with its bind parameters filled in, after every check that needs no data. Raises ArangoError."""
    parsed = parse(text)
    check_functions(parsed)
    query = bound(parsed, binds)
    check_names(query, database)
    for part in query.walk():
        if isinstance(part, n.Query):
            vector_rule.plan(part.statements, database)
    return query


def execute(
    text: str,
    binds: dict[str, Any],
    database: "Database",
    *,
    limits: Limits | None = None,
    options: dict[str, Any] | None = None,
    transaction: Transaction | None = None,
) -> Result:
    """Run the query; without a transaction its changes are made all together or not at all. Raises ArangoError."""
    query = checked_query(text, binds, database)
    database.server.clock.sleep(database.server.query_seconds)
    started = database.server.clock.now() - database.server.query_seconds
    changes = any(isinstance(node, n.Modification) for node in query.walk())
    if transaction is None and changes:
        own = Transaction("query", database, set(), None)
        try:
            result = _run(query, database, own, limits, options, started)
            own.commit()
        finally:
            if own.status == "running":
                own.abort()
        return result
    return _run(query, database, transaction or DirectReads(database), limits, options, started)


def _run(
    query: n.Query,
    database: "Database",
    access: DataAccess,
    limits: Limits | None,
    options: dict[str, Any] | None,
    started: float,
) -> Result:
    context = QueryContext(database, access, limits or Limits(), options or {}, started=started)
    context.declared = frozenset(node.name for node in query.walk() if isinstance(node, n.CollectionName))
    context.check_runtime()
    rows = Pipeline(context).run(query, {})
    return Result(rows, {"warnings": context.warnings, "stats": context.statistics.body()})
