"""Asking an external model server: one request, one strict JSON reply, and a name for everything else.

What is refused here is refused for every server: compressed replies (small on the wire, without bound in memory),
redirects (they would carry the API key along), JSON with NaN or a repeated key, and HTML that came with 200. Nothing
that a server says in an error reaches a log or a ledger but its status, because servers quote what they were sent.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from json import JSONDecodeError
from typing import Any

from steelyard_contracts import headers
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_runtime import strict_json
from steelyard_runtime.http import RawReply, Upstream

from .port import RerankBackendError
from .reasons import BackendReason

MAX_REPLY_BYTES = 16 * 2**20
"""A reply has a few dozen bytes a text; servers that echo the documents stay below this as well."""
LONGEST_HOLD_S = 60.0

_OF_CODE = {
    ErrorCode.UPSTREAM_UNREACHABLE: BackendReason.UNREACHABLE,
    ErrorCode.UPSTREAM_TIMEOUT: BackendReason.TIMEOUT,
}
_OF_STATUS = {
    400: BackendReason.REJECTED,
    401: BackendReason.UNAUTHORIZED,
    403: BackendReason.UNAUTHORIZED,
    413: BackendReason.REJECTED,
    422: BackendReason.REJECTED,
    429: BackendReason.OVERLOADED,
    503: BackendReason.OVERLOADED,
}


class ModelServer:
    """One external model server. Use `model_server` to open it."""

    def __init__(self, upstream: Upstream) -> None:
        self.base_url = upstream.base_url
        self._upstream = upstream

    async def post(self, path: str, payload: Mapping[str, Any]) -> Any:
        """POST `payload` and return the JSON value of a reply with a 2xx status. Raises RerankBackendError."""
        return self._value(await self._exchange("POST", path, payload))

    async def get(self, path: str) -> Any:
        """GET `path`; see `post`."""
        return self._value(await self._exchange("GET", path, None))

    async def status(self, path: str) -> int:
        """GET `path` and return the status, whichever it is. Raises RerankBackendError without a whole reply."""
        return (await self._exchange("GET", path, None)).status

    async def _exchange(self, method: str, path: str, payload: Mapping[str, Any] | None) -> RawReply:
        try:
            return await self._upstream.exchange(method, path, payload)
        except UpstreamError as error:
            reason = _OF_CODE.get(error.code, BackendReason.BAD_REPLY)
            raise RerankBackendError(reason, f"the model server at {self.base_url}: {error.detail}") from error

    def _value(self, reply: RawReply) -> Any:
        if not 200 <= reply.status < 300:
            raise self._fault(reason_of_status(reply.status), f"status {reply.status}", retry_after_s(reply.headers))
        encoding = reply.headers.get("Content-Encoding", "identity")
        if encoding.strip().lower() != "identity":
            raise self._fault(BackendReason.BAD_REPLY, "a compressed reply")
        try:
            return strict_json.loads(reply.body)
        except JSONDecodeError as error:
            raise self._fault(BackendReason.BAD_REPLY, f"a reply that is not JSON ({error.msg})") from None

    def _fault(self, reason: BackendReason, what: str, hold_s: float = 0.0) -> RerankBackendError:
        return RerankBackendError(reason, f"the model server at {self.base_url} answered {what}", hold_s=hold_s)


@asynccontextmanager
async def model_server(base_url: str, api_key: str | None) -> AsyncIterator[ModelServer]:
    """Open the client of the server at `base_url`, which is shown `api_key` as a bearer token."""
    async with Upstream(Stage.RERANKER, base_url, token=api_key, max_reply_bytes=MAX_REPLY_BYTES) as upstream:
        yield ModelServer(upstream)


def reason_of_status(status: int) -> BackendReason:
    """The name of a status that is no success."""
    return _OF_STATUS.get(status, BackendReason.BAD_STATUS)


def retry_after_s(reply_headers: Mapping[str, str]) -> float:
    """Seconds that a server asks to be left alone, at most a minute; 0 without a Retry-After in whole seconds."""
    value = reply_headers.get(headers.RETRY_AFTER, "")
    return min(float(value), LONGEST_HOLD_S) if value.isascii() and value.isdigit() else 0.0
