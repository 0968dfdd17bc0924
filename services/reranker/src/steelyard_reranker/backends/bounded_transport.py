"""The rules of `model_server` for an SDK that brings its own HTTP client: bounded, uncompressed, strict JSON.

httpx would unpack a reply of a few kilobytes to gigabytes, and the SDK would take the last of two equal keys.
"""

from json import JSONDecodeError

import httpx

from steelyard_runtime import strict_json
from steelyard_runtime.model_server import MAX_REPLY_BYTES

from .port import RerankBackendError
from .reasons import BackendReason


class BoundedTransport(httpx.AsyncBaseTransport):
    """Reads every reply whole before the SDK sees it. Raises RerankBackendError `bad_reply`."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and give its reply with the body in memory."""
        response = await self._inner.handle_async_request(request)
        try:
            if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
                raise _unusable("compressed")
            body = await _read(response)
        finally:
            await response.aclose()
        if response.is_success:
            try:
                strict_json.loads(body)
            except JSONDecodeError as error:
                raise _unusable(f"not JSON ({error.msg})") from None
        return httpx.Response(
            response.status_code, headers=response.headers, content=body, extensions=response.extensions
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


async def _read(response: httpx.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        async for part in response.aiter_raw():
            size += len(part)
            if size > MAX_REPLY_BYTES:
                raise _unusable(f"larger than {MAX_REPLY_BYTES} bytes")
            parts.append(part)
    except httpx.TransportError as error:
        raise _unusable(f"broken off ({type(error).__name__})") from error
    return b"".join(parts)


def _unusable(what: str) -> RerankBackendError:
    return RerankBackendError(BackendReason.BAD_REPLY, f"the hosted model's reply is {what}")
