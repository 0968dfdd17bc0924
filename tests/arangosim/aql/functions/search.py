"""Functions of ArangoSearch: analysis, scores, and those that only SEARCH can evaluate."""

from typing import Any

from tests.arangosim.aql.functions.registry import aql, aql_scorer, aql_with_context
from tests.arangosim.aql.scoring import Scorer
from tests.arangosim.errors import NOT_IMPLEMENTED, ArangoError
from tests.arangosim.values import compare, is_true, to_string


@aql_with_context("TOKENS", 1, 2)
def tokens(context: Any, _row: Any, value: Any, analyzer: Any = "identity") -> Any:
    """The terms of a text; arrays keep their shape."""
    terms = context.database.analyzers.required(analyzer).terms
    if isinstance(value, list):
        return [tokens(context, _row, item, analyzer) for item in value]
    return terms(to_string(value))


@aql("STARTS_WITH", 2, 3)
def starts_with(text: Any, prefix: Any, least: Any = 1) -> bool:
    prefixes = prefix if isinstance(prefix, list) else [prefix]
    return sum(to_string(text).startswith(to_string(one)) for one in prefixes) >= int(least)


@aql("IN_RANGE", 5)
def in_range(value: Any, low: Any, high: Any, with_low: Any, with_high: Any) -> bool:
    above, below = compare(value, low), compare(high, value)
    return (above > 0 or (above == 0 and is_true(with_low))) and (below > 0 or (below == 0 and is_true(with_high)))


@aql("MIN_MATCH", 2, None)
def min_match(*arguments: Any) -> bool:
    return sum(map(is_true, arguments[:-1])) >= int(arguments[-1])


@aql_scorer("BM25", 1, 3)
def bm25(scorer: Scorer, k: Any = 1.2, b: Any = 0.75) -> float:
    return scorer.bm25(float(k), float(b))


@aql_scorer("TFIDF", 1, 2)
def tfidf(scorer: Scorer, normalised: Any = False) -> float:
    return scorer.tfidf(normalised=is_true(normalised))


def _only_in_search(name: str, minimum: int, maximum: int | None) -> None:
    @aql(name, minimum, maximum)
    def refused(*_arguments: Any) -> Any:
        raise ArangoError(NOT_IMPLEMENTED, f"ArangoSearch function '{name}()' is used outside a SEARCH")


for _name, _minimum, _maximum in (
    ("ANALYZER", 2, 2),
    ("BOOST", 2, 2),
    ("PHRASE", 2, None),
    ("EXISTS", 1, 4),
    ("NGRAM_MATCH", 2, 4),
):
    _only_in_search(_name, _minimum, _maximum)
