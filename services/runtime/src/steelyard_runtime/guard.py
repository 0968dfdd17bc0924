"""Who may ask a service what: a service's guard looks at each request before any of its body is read."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from steelyard_contracts import headers
from steelyard_contracts.errors import ErrorCode, SteelyardError

from .settings.groups import LOOPBACK

_READY = "/ready"
HEALTH_PATHS = frozenset({"/live", _READY, "/v1/health_check"})
"""Paths that answer anybody, because a supervisor and a load balancer must always be able to ask."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request.

    `key_id` names the API key, None without keys; `scopes` None = no bound of its own. `writes` says whether it may
    change documents as well as read them.
    """

    key_id: str | None = None
    scopes: frozenset[str] | None = None
    writes: bool = True


class Guard(Protocol):
    """Decides about every request that is not open to anybody."""

    def is_open(self, path: str, sent: Mapping[str, str]) -> bool:
        """Whether a request is answered whoever sends it, by its path and its headers."""

    async def admit(self, path: str, sent: Mapping[str, str]) -> Caller:
        """Who asks, by the request's headers; raises SteelyardError (401, 403, 429, 503) when it may not."""


class TokenGuard:
    """The guard of the services behind the gateway: whoever has their shared token may ask."""

    OPEN_PATHS = HEALTH_PATHS | {"/metrics"}

    def __init__(self, token: str) -> None:
        self._token = token

    def is_open(self, path: str, sent: Mapping[str, str]) -> bool:
        """See Guard. Who shows a token with the question for readiness asks whether its calls would be answered."""
        return path in self.OPEN_PATHS and not (path == _READY and headers.AUTHORIZATION in sent)

    async def admit(self, path: str, sent: Mapping[str, str]) -> Caller:
        """See Guard."""
        del path
        if not matches(shown(sent), self._token):
            raise SteelyardError(ErrorCode.UNAUTHENTICATED, "the service token is missing or wrong")
        return Caller()


class LoopbackGuard:
    """The guard without keys or token: admits whoever reaches the loopback and means to.

    A web page can make its reader's browser ask, under the page's own host name (DNS rebinding) or as another origin
    that may send a form without asking first; neither is meant.
    """

    def __init__(self, open_paths: frozenset[str] = HEALTH_PATHS) -> None:
        self._open_paths = open_paths

    def is_open(self, path: str, sent: Mapping[str, str]) -> bool:
        """See Guard."""
        del sent
        return path in self._open_paths

    async def admit(self, path: str, sent: Mapping[str, str]) -> Caller:
        """See Guard."""
        del path
        if _host_name(sent.get("host", "")) not in LOOPBACK:
            raise SteelyardError(
                ErrorCode.HOST_FORBIDDEN,
                "whom no key or token is asked of is answered under 127.0.0.1, [::1] and localhost only",
            )
        origin = sent.get("origin")
        if origin is not None and _host_of(origin) != sent.get("host"):
            raise SteelyardError(
                ErrorCode.HOST_FORBIDDEN, "where no key or token is asked for, no other site's pages are answered"
            )
        return Caller()


def shown(sent: Mapping[str, str]) -> str:
    """The bearer token that a request shows, empty when it shows none."""
    scheme, _, token = sent.get(headers.AUTHORIZATION, "").partition(" ")
    return token if scheme.lower() == "bearer" else ""


def matches(given: str, secret: str) -> bool:
    """Whether both are equal, in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode(), secret.encode())


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
