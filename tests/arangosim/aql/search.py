"""FOR over a view: SEARCH, and the scorer that BM25 and TFIDF read from the row."""

from collections.abc import Iterable, Iterator

from tests.arangosim.aql import nodes as n
from tests.arangosim.aql.context import QueryContext, Row, scorer_name
from tests.arangosim.aql.expressions import Compiler
from tests.arangosim.aql.scoring import Scorer
from tests.arangosim.aql.search_conditions import SearchCompiler


def searched(
    node: n.ForEach, view_name: str, rows: Iterable[Row], context: QueryContext, compiler: Compiler
) -> Iterator[Row]:
    """The documents as they are stored now, matched by what the view had committed; deleted ones are left out."""
    view = context.database.views[view_name]
    options = compiler.options(node.options)
    if options.get("waitForSync"):
        view.commit()
    wanted = options.get("collections")
    condition = SearchCompiler(node.variable, compiler, context.database.analyzers)
    match = condition.compile(node.search) if node.search is not None else None
    for row in rows:
        for document in view.documents():
            context.check_runtime()
            context.statistics.scanned_index += 1
            if wanted is not None and document.collection not in wanted:
                continue
            hits = () if match is None else match(document, row)
            stored = context.collection(document.collection).documents.get(document.source["_key"])
            if hits is not None and stored is not None:
                yield row | {node.variable: stored, scorer_name(node.variable): Scorer(document, hits, view.counts)}
