"""Reading request bodies strictly: orjson (no NaN, no lone surrogates), and a nesting limit."""

from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute

_MAX_DEPTH = 64


class StrictRequest(Request):
    """A request whose JSON is parsed by orjson."""

    async def json(self) -> Any:
        """The body's JSON value; raises JSONDecodeError for anything that is not strict JSON."""
        body = await self.body()
        value = orjson.loads(body)
        if _depth_exceeds(value, _MAX_DEPTH):
            raise JSONDecodeError(f"nested deeper than {_MAX_DEPTH}", "", 0)
        return value


class StrictRoute(APIRoute):
    """A route that reads its body through `StrictRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the route's handler so that it sees a `StrictRequest`."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                deeper.extend(child for child in item.values() if isinstance(child, dict | list))
            elif isinstance(item, list):
                deeper.extend(child for child in item if isinstance(child, dict | list))
        if not deeper:
            return False
        level = deeper
    return True
