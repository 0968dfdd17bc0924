"""The limit on requests that are worked on at once, and the refusal of those that are too many.

A refusal has to cost next to nothing: at five times the load that a service can take, four of five requests are
refused, and what they cost is taken from the fifth.
"""

import time
from contextvars import copy_context
from dataclasses import dataclass

import orjson

from steelyard_contracts import headers
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError

from . import context, logs, problems
from .guard import HEALTH_PATHS
from .metrics import Metrics
from .paths import Paths

_UNLIMITED = HEALTH_PATHS | {"/metrics"}
"""Paths that answer under any load: what is overloaded must still be seen to be."""
_LOG_S = 1.0
"""How often overload is logged: a line for each refusal would cost as much as the refusal, and hide all others."""
_RETRY_AFTER_S = 1


@dataclass(slots=True)
class LoadLimit:
    """`active` of at most `concurrency` requests of one service are worked on."""

    concurrency: int
    stage: Stage
    metrics: Metrics
    policy_hash: str
    openai_paths: Paths
    active: int = 0
    _refused: int = 0
    _logged: float = -_LOG_S

    @staticmethod
    def counts(path: str) -> bool:
        """Whether requests of this path count."""
        return path not in _UNLIMITED

    def is_full(self, path: str) -> bool:
        """Whether one more request would be too many."""
        return self.active >= self.concurrency and self.counts(path)

    def error(self) -> SteelyardError:
        """The error of a request that is refused; counts it, and logs how many were since the last line."""
        self._refused += 1
        now = time.monotonic()
        if now - self._logged >= _LOG_S:
            logs.get().error("overloaded", requests=self._refused, stage=str(self.stage))
            self._logged, self._refused = now, 0
        return SteelyardError(
            ErrorCode.OVERLOADED,
            f"already working on {self.concurrency} requests",
            stage=self.stage,
            retry_after_s=_RETRY_AFTER_S,
        )

    def refusal(self, path: str, given_id: str, *, keep_alive: bool) -> bytes:
        """The whole HTTP reply to a request that is refused before any of it is taken in."""
        # In a context of its own: what follows on the same connection is another request.
        return copy_context().run(self._reply, path, given_id, keep_alive)

    def _reply(self, path: str, given_id: str, keep_alive: bool) -> bytes:
        error = self.error()
        context.bind(context.RequestContext(context.request_id(given_id), 0.0, policy_hash=self.policy_hash))
        openai = path in self.openai_paths
        body = orjson.dumps(
            problems.openai_error(error, self.stage) if openai else problems.document(error, self.stage)
        )
        self.metrics.observe("unmatched", error.status, 0.0)
        lines = (
            f"HTTP/1.1 {error.status} Service Unavailable",
            f"Content-Type: {'application/json' if openai else problems.MEDIA_TYPE}",
            f"Content-Length: {len(body)}",
            f"{headers.RETRY_AFTER}: {_RETRY_AFTER_S}",
            f"{headers.REQUEST_ID}: {context.current().request_id}",
            f"{headers.POLICY_HASH}: {self.policy_hash}",
            f"{headers.SERVER_TIMING}: total;dur=0.0",
            f"Connection: {'keep-alive' if keep_alive else 'close'}",
        )
        return "\r\n".join((*lines, "", "")).encode("latin-1") + body
