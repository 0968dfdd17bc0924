"""The table of AQL functions; the modules beside this one fill it."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from tests.arangosim.errors import (
    NOT_IMPLEMENTED,
    QUERY_FUNCTION_ARGUMENT_NUMBER_MISMATCH,
    QUERY_FUNCTION_NAME_UNKNOWN,
    ArangoError,
)

Implementation = Callable[..., Any]
CollectionArgument = Literal["", "documents", "name"]


class Function(NamedTuple):
    """`call(context, row, arguments)`; `maximum` None means any number of arguments.

    `collection_argument`: what a collection's bare name as the first argument stands for. `scores`: the first argument
    is the variable of a FOR over a view and arrives as its scorer.
    """

    name: str
    minimum: int
    maximum: int | None
    call: Implementation
    collection_argument: CollectionArgument = ""
    scores: bool = False


FUNCTIONS: dict[str, Function] = {}


def aql(
    name: str, minimum: int, maximum: int | None = -1, *, collection_argument: CollectionArgument = ""
) -> Callable[[Implementation], Implementation]:
    """Register a function of its arguments alone. `maximum` defaults to `minimum`."""

    def register(implementation: Implementation) -> Implementation:
        def call(_context: Any, _row: Any, arguments: list[Any]) -> Any:
            return implementation(*arguments)

        _add(Function(name, minimum, minimum if maximum == -1 else maximum, call, collection_argument))
        return implementation

    return register


def aql_with_context(
    name: str, minimum: int, maximum: int | None = -1, *, collection_argument: CollectionArgument = ""
) -> Callable[[Implementation], Implementation]:
    """Register a function that also gets the query's context and row."""

    def register(implementation: Implementation) -> Implementation:
        def call(context: Any, row: Any, arguments: list[Any]) -> Any:
            return implementation(context, row, *arguments)

        _add(Function(name, minimum, minimum if maximum == -1 else maximum, call, collection_argument))
        return implementation

    return register


def aql_scorer(name: str, minimum: int, maximum: int) -> Callable[[Implementation], Implementation]:
    """Register a function whose first argument is the variable of a FOR over a view and arrives as its scorer."""

    def register(implementation: Implementation) -> Implementation:
        def call(_context: Any, _row: Any, arguments: list[Any]) -> Any:
            if arguments[0] is None:
                raise ArangoError(NOT_IMPLEMENTED, f"'{name}()' is used outside a FOR over a view")
            return implementation(*arguments)

        _add(Function(name, minimum, maximum, call, scores=True))
        return implementation

    return register


def _add(function: Function) -> None:
    if function.name in FUNCTIONS:
        raise ValueError(f"AQL function {function.name} is registered twice")
    FUNCTIONS[function.name] = function


def checked(name: str, count: int) -> Function:
    """Raises ArangoError 1540 for an unknown name, 1541 for a wrong number of arguments."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise ArangoError(QUERY_FUNCTION_NAME_UNKNOWN, f"'{name}()'")
    if count < function.minimum or (function.maximum is not None and count > function.maximum):
        most = "unlimited" if function.maximum is None else function.maximum
        raise ArangoError(
            QUERY_FUNCTION_ARGUMENT_NUMBER_MISMATCH,
            f"'{name}()', expected number of arguments: minimum: {function.minimum}, maximum: {most}",
        )
    return function
