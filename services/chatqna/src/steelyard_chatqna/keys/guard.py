"""The gateway's guard by API key; without keys it has that of the runtime for the loopback."""

import math
import time
from collections.abc import Mapping

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.guard import HEALTH_PATHS, Caller, matches, shown

from .file import KeyFileError
from .record import ApiKey
from .ring import KeyRing

OPERATIONS_PATHS = frozenset({"/info", "/metrics", "/v1/statistics"})
"""Paths for whoever runs the stack, who may show the service token instead of a key: a scraper asks for no evidence."""

_STEP_S = 1.0
"""A clock that is put back by less is being kept in step."""


class KeyGuard:
    """Admits who shows a key of the ring, as often as that key may ask. Counts are of this process."""

    def __init__(self, ring: KeyRing, service_token: str | None, open_paths: frozenset[str]) -> None:
        """`open_paths` answer anybody besides health: they must hold nobody's data."""
        self._open_paths = HEALTH_PATHS | open_paths
        self._ring = ring
        self._service_token = service_token
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._ahead_s = _wall_ahead_s()

    def is_open(self, path: str, sent: Mapping[str, str]) -> bool:
        """See Guard."""
        del sent
        return path in self._open_paths

    async def admit(self, path: str, sent: Mapping[str, str]) -> Caller:
        """See Guard."""
        given = shown(sent)
        if path in OPERATIONS_PATHS and self._service_token is not None and matches(given, self._service_token):
            return Caller()
        if not given:
            raise SteelyardError(ErrorCode.UNAUTHENTICATED, "no API key was shown (Authorization: Bearer KEY)")
        try:
            key = self._ring.find(given)
        except KeyFileError:
            raise unreadable() from None
        if key is None:
            raise SteelyardError(ErrorCode.UNAUTHENTICATED, "the API key is unknown, wrong or revoked")
        await self._count(key)
        return Caller(key.id, frozenset(key.scopes), key.writes)

    async def _count(self, key: ApiKey) -> None:
        self._follow_the_clock()
        rate = RateLimitItemPerMinute(key.requests_per_minute)
        if not await self._limiter.hit(rate, key.id):
            window = await self._limiter.get_window_stats(rate, key.id)
            raise SteelyardError(
                ErrorCode.RATE_LIMITED,
                f"API key {key.id} may make {key.requests_per_minute} requests in 60 s",
                retry_after_s=max(1, math.ceil(window.reset_time - time.time())),
            )

    def _follow_the_clock(self) -> None:
        """Begin to count anew when the wall clock was put back: requests of the future would bar keys until then."""
        ahead_s = _wall_ahead_s()
        if ahead_s < self._ahead_s - _STEP_S:
            self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._ahead_s = ahead_s


def unreadable() -> SteelyardError:
    """Which file it is and what is wrong with it is the log's to say, not a stranger's to know."""
    return SteelyardError(ErrorCode.NOT_READY, "the API keys can not be read; the log has the cause")


def _wall_ahead_s() -> float:
    """By how much the clock that the counts go by is ahead of the one that nobody sets."""
    return time.time() - time.monotonic()
