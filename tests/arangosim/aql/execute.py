"""A query from text to result: parse, check, plan, run in a transaction of its own or in the given one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.arangosim.aql import nodes as n
from tests.arangosim.aql import vector_rule
from tests.arangosim.aql.checks import check_binds, check_functions, check_names
from tests.arangosim.aql.context import Limits, QueryContext
from tests.arangosim.aql.parser import parse
from tests.arangosim.aql.pipeline import Pipeline
from tests.arangosim.transactions import Transaction

if TYPE_CHECKING:
    from tests.arangosim.state import Database


@dataclass(frozen=True)
class Result:
    """The rows and the `extra` of the cursor reply."""

    rows: list[Any]
    extra: dict[str, Any]


def checked_query(text: str, binds: dict[str, Any], database: "Database") -> n.Query:
    """The parsed query after every check that needs no data. Raises ArangoError."""
    query = parse(text)
    check_functions(query)
    check_binds(query, binds)
    check_names(query, binds, database)
    for part in query.walk():
        if isinstance(part, n.Query):
            vector_rule.plan(part.statements, binds, database)
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
    own = transaction is None
    inside = transaction or Transaction("query", database, set(), None)
    context = QueryContext(database, inside, binds, limits or Limits(), options or {})
    database.server.clock.sleep(database.server.query_seconds)
    try:
        context.check_runtime()
        rows = Pipeline(context).run(query, {})
        if own:
            inside.commit()
    finally:
        if own and inside.status == "running":
            inside.abort()
    return Result(rows, {"warnings": context.warnings, "stats": context.statistics.body()})
