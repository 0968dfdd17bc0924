"""Queries of the retrieval path over python-arango-async: one request a query, at most one retry."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import orjson
from arangoasync.auth import Auth
from arangoasync.client import ArangoClient
from arangoasync.database import StandardDatabase
from arangoasync.exceptions import ArangoServerError, DeserializationError
from arangoasync.http import HTTPClient
from arangoasync.request import Request
from arangoasync.resolver import SingleHostResolver
from arangoasync.response import Response
from arangoasync.serialization import Deserializer, Serializer
from arangoasync.typings import QueryProperties

from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.coordinators import CONNECT_TIMEOUT_S, Coordinators
from steelyard_store.arangodb.faults import HostUnreachable, typed_errors
from steelyard_store.errors import StoreClosed, StoreUnavailable

Remaining = Callable[[], float | None]
"""Seconds until the caller's deadline, None when there is no caller with one."""

_MAX_CONNECTIONS = 64
_KEEPALIVE_S = 30.0
_MAX_REPLY_BYTES = 256 * 2**20
_SERVERS_SHARE = 0.9
"""Part of the remaining time that the server gets; the rest is for the way back and for reading the reply."""
_TRIES = 2
_NOT_READY = 503


class _OrjsonSerializer(Serializer[dict[str, Any]]):
    def dumps(self, data: Any) -> str:
        return orjson.dumps(data).decode()


class _OrjsonDeserializer(Deserializer[dict[str, Any], list[dict[str, Any]]]):
    def loads(self, data: bytes) -> dict[str, Any]:
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError as cause:
            raise DeserializationError(f"the reply is not JSON: {cause}") from cause
        if not isinstance(value, dict):
            raise DeserializationError(f"the reply is a JSON {type(value).__name__}, not an object")
        return value

    def loads_many(self, data: bytes) -> list[dict[str, Any]]:
        raise DeserializationError(f"a list of {len(data)} bytes was not asked for")


class _Http(HTTPClient):
    """The driver's HTTP client with a cap on replies, no redirects, and errors that say whether anything was sent."""

    def __init__(self, login: Auth) -> None:
        self._tls = ssl.create_default_context()
        self._headers = {
            "Accept-Encoding": "identity",
            "Authorization": aiohttp.encode_basic_auth(login.username, login.password, login.encoding),
        }

    def create_session(self, host: str) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            base_url=host,
            connector=aiohttp.TCPConnector(limit=_MAX_CONNECTIONS, keepalive_timeout=_KEEPALIVE_S, ssl=self._tls),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
        )

    async def close_session(self, session: aiohttp.ClientSession) -> None:
        await session.close()

    async def send_request(self, session: aiohttp.ClientSession, request: Request) -> Response:
        try:
            async with session.request(
                request.method.name,
                request.endpoint,
                headers=request.normalized_headers(),
                params=request.normalized_params(),
                data=request.data,
                allow_redirects=False,
            ) as response:
                return Response(
                    method=request.method,
                    url=str(response.real_url),
                    headers=response.headers,
                    status_code=response.status,
                    status_text=str(response.reason),
                    raw_body=await _capped(response),
                )
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as cause:
            raise HostUnreachable(f"no connection ({cause})", nothing_sent=True) from cause
        except (aiohttp.ClientError, ConnectionError) as cause:
            raise HostUnreachable(f"broken exchange ({type(cause).__name__}: {cause})", nothing_sent=False) from cause


async def _capped(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > _MAX_REPLY_BYTES:
            raise aiohttp.ClientPayloadError(f"the reply is larger than {_MAX_REPLY_BYTES} bytes")
    return bytes(body)


class ReadSession:
    """Connections of one reader; made in the first call, because they belong to its event loop."""

    def __init__(self, address: ArangoAddress, remaining: Remaining) -> None:
        self._address = address
        self._remaining = remaining
        self._coordinators = Coordinators(address.urls)
        self._clients: list[ArangoClient] = []
        self._databases: list[StandardDatabase] = []
        self._closed = False

    async def run(self, query: str, binds: Mapping[str, Any]) -> dict[str, Any]:
        """Return the one row of ``query``, which returns a single object.

        Raises:
            StoreError: StoreUnavailable when no coordinator answers in time, else by error number.
        """
        if self._closed:
            raise StoreClosed(f"the handle on store {self._address} is closed")
        left = self._remaining()
        seconds = self._address.timeout_s if left is None else min(left, self._address.timeout_s)
        with typed_errors(self._address):
            async with asyncio.timeout(seconds):
                return await self._ask(query, binds, seconds)

    async def close(self) -> None:
        """Close all connections; later calls raise ``StoreClosed``."""
        self._closed = True
        clients, self._clients, self._databases = self._clients, [], []
        for client in clients:
            await client.close()

    async def _ask(self, query: str, binds: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        await self._open()
        order = self._coordinators.in_order()
        only = len(order) == 1
        for attempt, index in enumerate((order * _TRIES)[:_TRIES], start=1):
            try:
                row = await self._execute(self._databases[index], query, binds, seconds)
            except (HostUnreachable, ArangoServerError) as cause:
                if isinstance(cause, ArangoServerError) and cause.error_code != _NOT_READY:
                    raise
                self._coordinators.failed(index)
                # Alone and refused: it would be refused again. A connection that broke may have been an idle one.
                refused = not isinstance(cause, HostUnreachable) or cause.nothing_sent
                if attempt == _TRIES or (only and refused):
                    raise
            else:
                self._coordinators.answered(index)
                return row
        raise AssertionError("the last attempt returns or raises")

    async def _execute(
        self, database: StandardDatabase, query: str, binds: Mapping[str, Any], seconds: float
    ) -> dict[str, Any]:
        cursor = await database.aql.execute(
            query,
            bind_vars=dict(binds),
            memory_limit=self._address.memory_limit_bytes,
            options=QueryProperties(max_runtime=seconds * _SERVERS_SHARE, fail_on_warning=True),
        )
        rows = list(cursor.batch)
        if len(rows) != 1 or cursor.has_more or not isinstance(rows[0], dict):
            raise StoreUnavailable(f"store {self._address}: the reply has {len(rows)} rows where one was asked for")
        return rows[0]

    async def _open(self) -> None:
        if self._databases:
            return
        auth = Auth(username=self._address.username, password=self._address.password)
        http = _Http(auth)
        clients = [
            ArangoClient(
                hosts=url,
                # The driver's own retries would send a request again without knowing what became of it.
                host_resolver=SingleHostResolver(1, max_tries=1),
                http_client=http,
                serializer=_OrjsonSerializer(),
                deserializer=_OrjsonDeserializer(),
            )
            for url in self._address.urls
        ]
        self._databases = [await client.db(self._address.database, auth=auth) for client in clients]
        self._clients = clients
