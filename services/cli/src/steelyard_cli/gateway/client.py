"""Talking to one service over HTTP, with its problems as typed errors."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar
from urllib.parse import urlsplit

import requests
from pydantic import BaseModel, ValidationError

from steelyard_contracts import headers

from ..errors import BrokenReplyError, ConfigurationError, RequestRefusedError, UnreachableError
from .sse import Event, read_events

Reply = TypeVar("Reply", bound=BaseModel)

_CONNECT_S = 5.0
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class UploadBrokenError(BrokenReplyError):
    """The service closed the connection while a file was being sent, and goes on serving others."""


class Service:
    """One service. `timeout_s` is the longest silence, `token` is shown as a bearer token when there is one."""

    def __init__(self, name: str, url: str, *, timeout_s: float, token: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigurationError(f"--url {url!r} should be an address like http://127.0.0.1:8888")
        self.name = name
        self.url = url
        self._timeout = (_CONNECT_S, timeout_s)
        self._session = requests.Session()
        # A proxy that is meant for the outside must not be asked about this host's own services.
        self._session.trust_env = parts.hostname not in _LOOPBACK
        if token is not None:
            self._session.headers[headers.AUTHORIZATION] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def get(self, path: str, reply: type[Reply], query: Mapping[str, Any] | None = None) -> Reply:
        """GET a contract's payload; of `query`, what is None is left out and a list is repeated."""
        return self._parse(self._send("GET", path, params=query), reply)

    def post(self, path: str, body: BaseModel | Mapping[str, Any], reply: type[Reply]) -> Reply:
        """POST one contract's payload, a mapping where null means something, and get another's."""
        return self._parse(self._send("POST", path, json=_dump(body)), reply)

    def post_form(self, path: str, fields: Mapping[str, str], reply: type[Reply]) -> Reply:
        """POST a multipart form of text fields alone and get a contract's payload."""
        return self._parse(self._send("POST", path, files={name: (None, text) for name, text in fields.items()}), reply)

    def upload(self, path: str, name: str, stream: BinaryIO, fields: Mapping[str, str], reply: type[Reply]) -> Reply:
        """POST one file as the multipart field `files`, beside text fields.

        The reply counts whatever its status, because a report about a refused file has the status of the refusal.
        Raises UploadBrokenError when the service breaks the connection and yet lives: it refuses the file unread.
        """
        try:
            response = self._request("POST", path, files={"files": (name, stream)}, data=dict(fields))
        except UnreachableError:
            try:
                self._request("GET", "/live")
            except UnreachableError as error:
                raise error from None
            raise UploadBrokenError(f"{self.name} closed the connection while {name} was being sent") from None
        try:
            return reply.model_validate_json(response.content)
        except ValidationError:
            self._check(response)
            return self._parse(response, reply)

    def stream(self, path: str, body: BaseModel) -> Iterator[Event]:
        """POST a payload and read the reply's server-sent events as they come."""
        with self._said_as_errors(path):
            response = self._session.post(
                self.url + path, json=_dump(body), timeout=self._timeout, stream=True, allow_redirects=False
            )
        with response:
            self._check(response)
            kind = response.headers.get("Content-Type", "")
            if not kind.startswith("text/event-stream"):
                raise BrokenReplyError(f"{self.url}{path} answered {kind or 'no content type'}, not an event stream")
            with self._said_as_errors(path, begun=True):
                # None: a chunk as soon as it is there, whatever its size.
                yield from read_events(response.iter_content(chunk_size=None))

    def _send(self, method: str, path: str, **content: Any) -> requests.Response:
        response = self._request(method, path, **content)
        self._check(response)
        return response

    def _request(self, method: str, path: str, **content: Any) -> requests.Response:
        with self._said_as_errors(path):
            return self._session.request(
                method, self.url + path, timeout=self._timeout, allow_redirects=False, **content
            )

    @contextmanager
    def _said_as_errors(self, path: str, *, begun: bool = False) -> Iterator[None]:
        try:
            yield
        except requests.Timeout as error:
            waited = _CONNECT_S if isinstance(error, requests.ConnectTimeout) else self._timeout[1]
            raise UnreachableError(f"{self.name} at {self.url}{path} did not answer within {waited:g} s") from None
        except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError) as error:
            if begun:
                raise BrokenReplyError(f"the stream from {self.url}{path} broke off: {_innermost(error)}") from None
            raise UnreachableError(
                f"{self.name} is unreachable at {self.url}: {_innermost(error)}",
                hint="`steelyard up` starts the services; `steelyard status` says what is wrong with them.",
            ) from None
        except requests.RequestException as error:
            raise BrokenReplyError(f"the reply of {self.url}{path} can not be read: {error}") from None

    def _check(self, response: requests.Response) -> None:
        if response.ok and response.status_code < 300:
            return
        try:
            body = json.loads(response.content)
        except ValueError:
            body = None
        refusal = refusal_from(body, self.name, _seconds(response.headers.get(headers.RETRY_AFTER)))
        if refusal is not None:
            raise refusal
        raise BrokenReplyError(f"{response.url} answered {response.status_code} without a problem document")

    def _parse(self, response: requests.Response, reply: type[Reply]) -> Reply:
        try:
            return reply.model_validate_json(response.content)
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(str(part) for part in fault["loc"]) or "body"
            raise BrokenReplyError(
                f"{response.url} answered something that is no {reply.__name__}: {where}: {fault['msg']}"
            ) from None


def refusal_from(body: Any, service: str, retry_after_s: float | None = None) -> RequestRefusedError | None:
    """The error in a problem document or in OpenAI's error object; None when `body` is neither."""
    if not isinstance(body, Mapping):
        return None
    nested = body.get("error")
    said: Mapping[str, Any] = nested if isinstance(nested, Mapping) else body
    code = said.get("code")
    detail = said.get("detail", said.get("message"))
    if not isinstance(code, str) or not isinstance(detail, str):
        return None
    return RequestRefusedError(
        code, detail, str(said.get("stage", service)), str(said.get("request_id", "unknown")), retry_after_s
    )


def read_token(path: str | None) -> str | None:
    """The token in a file, None when no file is named; raises ConfigurationError when there is none in it."""
    if path is None:
        return None
    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    if not token:
        raise ConfigurationError(f"{path} is empty; it should hold a key")
    return token


def _dump(body: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
    return body.model_dump(mode="json", exclude_none=True) if isinstance(body, BaseModel) else dict(body)


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdigit() else None


def _innermost(error: BaseException) -> str:
    """The words of the operating system under the layers of wrapping."""
    reason: Any = error
    while True:
        inner = getattr(reason, "reason", None) or next(
            (it for it in getattr(reason, "args", ()) if isinstance(it, BaseException)), None
        )
        if not isinstance(inner, BaseException):
            break
        reason = inner
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return str(reason).rpartition("] ")[2].rpartition(": ")[2]
