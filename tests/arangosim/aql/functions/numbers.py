"""Numeric and date functions."""

import math
from typing import Any

from tests.arangosim.aql.functions.registry import aql, aql_with_context
from tests.arangosim.values import finite, to_number


@aql("ABS", 1)
def absolute(value: Any) -> Any:
    return abs(to_number(value))


@aql("FLOOR", 1)
def floor(value: Any) -> int:
    return math.floor(to_number(value))


@aql("CEIL", 1)
def ceil(value: Any) -> int:
    return math.ceil(to_number(value))


@aql("ROUND", 1)
def round_half_up(value: Any) -> int:
    return math.floor(to_number(value) + 0.5)


@aql("SQRT", 1)
def square_root(value: Any) -> Any:
    number = to_number(value)
    return math.sqrt(number) if number >= 0 else None


@aql("POW", 2)
def power(base: Any, exponent: Any) -> Any:
    return finite(float(to_number(base)) ** to_number(exponent))


@aql("LOG", 1)
def logarithm(value: Any) -> Any:
    number = to_number(value)
    return math.log(number) if number > 0 else None


@aql("EXP", 1)
def exponential(value: Any) -> Any:
    return finite(math.exp(to_number(value)))


@aql_with_context("RAND", 0)
def rand(context: Any, _row: Any) -> float:
    """From the server's seeded generator, so that runs repeat."""
    return float(context.database.server.random.random())


@aql_with_context("DATE_NOW", 0)
def date_now(context: Any, _row: Any) -> int:
    return int(context.database.server.clock.now() * 1000)


@aql_with_context("SLEEP", 1)
def sleep(context: Any, _row: Any, seconds: Any) -> None:
    """Moves the server's clock, so that no test waits; a query over its `maxRuntime` is killed."""
    context.database.server.clock.sleep(float(to_number(seconds)))
    context.check_runtime()
