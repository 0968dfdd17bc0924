"""Reading request bodies strictly, whatever route takes them."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response, params
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from steelyard_contracts.errors import ErrorCode, SteelyardError

from . import strict_json


class StrictRequest(Request):
    """A request whose JSON is read by `strict_json`."""

    async def json(self) -> Any:
        """The body's JSON value; raises JSONDecodeError for anything that is not strict JSON."""
        body = await self.body()
        try:
            return strict_json.loads(body)
        except MemoryError:
            raise HTTPException(500) from None  # FastAPI would take any other error for the sender's


class StrictRoute(APIRoute):
    """A route that reads its body through `StrictRequest`; every router of a service uses it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the route's handler so that it sees a `StrictRequest`, and only JSON where it expects JSON.

        Where a body may be missing, what has none needs to say nothing of its type.
        """
        handler = super().get_route_handler()
        body = self.body_field
        takes_json = body is not None and not isinstance(body.field_info, params.Form)
        needs_it = body is not None and body.field_info.is_required()

        async def strict(request: Request) -> Response:
            expected = takes_json and (needs_it or _has_body(request))
            if expected and not _says_json(request.headers.get("content-type", "")):
                raise SteelyardError(ErrorCode.UNSUPPORTED_TYPE, "the body's Content-Type should be application/json")
            return await handler(StrictRequest(request.scope, request.receive))

        return strict


def _has_body(request: Request) -> bool:
    return request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers


def _says_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))
