"""Requests of the ingestion path and of administration over python-arango; no request is ever sent twice."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, TypeVar, cast

import arango.errno as errno
import orjson
import requests
from arango.client import ArangoClient
from arango.cursor import Cursor
from arango.database import StandardDatabase
from arango.http import HTTPClient
from arango.response import Response
from requests.adapters import HTTPAdapter

from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.coordinators import CONNECT_TIMEOUT_S, Coordinators
from steelyard_store.arangodb.faults import HostUnreachable, typed_errors
from steelyard_store.errors import StoreClosed

_Result = TypeVar("_Result")
SYSTEM_DATABASE = "_system"


class _Adapter(HTTPAdapter):
    """Trusts what the system trusts, as the asynchronous client does, and retries nothing."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options, ssl_context=ssl.create_default_context())


class _Http(HTTPClient):
    """The driver's HTTP client without retries and redirects, and with errors that say whether anything was sent."""

    def __init__(self, timeout_s: float) -> None:
        self.request_timeout = timeout_s

    def create_session(self, host: str) -> requests.Session:  # noqa: ARG002  the driver's signature
        session = requests.Session()
        session.trust_env = False  # no proxy and no .netrc that the environment may name
        session.headers["Accept-Encoding"] = "identity"
        adapter = _Adapter(max_retries=0)
        session.mount("https://", adapter)
        session.mount("http://", adapter)
        return session

    def send_request(
        self,
        session: requests.Session,
        method: str,
        url: str,
        headers: MutableMapping[str, str] | None = None,
        params: MutableMapping[str, str] | None = None,
        data: Any = None,
        auth: tuple[str, str] | None = None,
    ) -> Response:
        try:
            response = session.request(
                method,
                url,
                headers=headers,
                params=params,
                data=data.encode() if isinstance(data, str) else data,
                auth=auth,
                timeout=(CONNECT_TIMEOUT_S, self.request_timeout),
                allow_redirects=False,
            )
        except requests.exceptions.ConnectTimeout as cause:
            raise HostUnreachable(f"no connection ({cause})", nothing_sent=True) from cause
        except requests.RequestException as cause:
            raise HostUnreachable(f"broken exchange ({cause})", nothing_sent=_never_connected(cause)) from cause
        if response.status_code == errno.HTTP_SERVICE_UNAVAILABLE and _is_not_ready(response.content):
            raise HostUnreachable("the server is not ready (HTTP 503)", nothing_sent=False)
        response.encoding = "utf-8"
        return Response(
            method=method,
            url=response.url,
            headers=response.headers,
            status_code=response.status_code,
            status_text=response.reason,
            raw_body=response.text,
        )


class WriteSession:
    """Connections of one writer; safe to use from one thread at a time."""

    def __init__(self, address: ArangoAddress) -> None:
        self._address = address
        self._coordinators = Coordinators(address.urls)
        self._clients = [
            ArangoClient(
                hosts=url,
                resolver_max_tries=1,
                http_client=_Http(address.timeout_s),
                serializer=lambda value: orjson.dumps(value).decode(),
                deserializer=_loads,
            )
            for url in address.urls
        ]
        self._closed = False

    def call(self, work: Callable[[StandardDatabase], _Result], database: str | None = None) -> _Result:
        """Let ``work`` use the database through the first coordinator that can be connected to.

        What reached a coordinator is not tried at another, since it may have been done.

        Raises:
            StoreError: see ``typed_errors``.
        """
        if self._closed:
            raise StoreClosed(f"the handle on store {self._address} is closed")
        with typed_errors(self._address):
            order = self._coordinators.in_order()
            for index in order:
                handle = self._clients[index].db(
                    database or self._address.database, self._address.username, self._address.password
                )
                try:
                    result = work(handle)
                except HostUnreachable as cause:
                    self._coordinators.failed(index)
                    if not cause.nothing_sent or index == order[-1]:
                        raise
                else:
                    self._coordinators.answered(index)
                    return result
            raise AssertionError("the last coordinator returns or raises")

    def rows(self, query: str, binds: Mapping[str, Any]) -> list[Any]:
        """Return all rows of ``query``.

        Raises:
            StoreError: see ``typed_errors``.
        """

        def execute(database: StandardDatabase) -> list[Any]:
            cursor = cast(
                Cursor,
                database.aql.execute(
                    query,
                    bind_vars=dict(binds),
                    memory_limit=self._address.memory_limit_bytes,
                    max_runtime=self._address.timeout_s,  # type: ignore[arg-type]  # typed as numbers.Number
                    fail_on_warning=True,
                ),
            )
            return list(cursor)

        return self.call(execute)

    def close(self) -> None:
        """Close all connections; later calls raise ``StoreClosed``."""
        self._closed = True
        for client in self._clients:
            client.close()


def _loads(text: str) -> Any:
    if not text:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as cause:
        # The driver would take a ValueError as "this is text", and stumble over the text later.
        raise HostUnreachable(f"the reply is not JSON: {cause}", nothing_sent=False) from cause


def _is_not_ready(body: bytes) -> bool:
    """Whether the server as a whole says 503, which the driver would report as a host that can not be connected to."""
    try:
        return bool(orjson.loads(body)["errorNum"] == errno.HTTP_SERVICE_UNAVAILABLE)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return False


def _never_connected(cause: BaseException) -> bool:
    """Whether urllib3 says, somewhere below requests' own error, that no connection came about."""
    reason = getattr(cause.args[0], "reason", None) if cause.args else None
    return type(reason).__name__ in {"NewConnectionError", "ConnectTimeoutError", "NameResolutionError"}
