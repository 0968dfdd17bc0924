"""What a failed call to a neighbour is called: the one place where a client's exception becomes an UpstreamError.

Exceptions::

    UpstreamError                 a neighbour failed (steelyard_contracts.errors)
    ├── RequestRefusedError       a server of another maker took the request for a faulty one (status 400 or 422)
    └── NoReplyError              no complete reply came: unreachable, broken off, or too late
"""

from collections.abc import Mapping
from json import JSONDecodeError

import aiohttp
from pydantic import ValidationError

from steelyard_contracts import headers
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, Problem, UpstreamError
from steelyard_contracts.health import Readiness

from .. import strict_json
from ..digits import whole_number
from ..faults import field_faults

_OURS = frozenset(
    {
        ErrorCode.UNAUTHENTICATED,
        ErrorCode.HOST_FORBIDDEN,
        ErrorCode.NOT_FOUND,
        ErrorCode.METHOD_NOT_ALLOWED,
        ErrorCode.MALFORMED_JSON,
        ErrorCode.UNSUPPORTED_TYPE,
    }
)
"""Refusals that are this service's own fault or its configuration's: its client could not do anything about them."""
_LONGEST_RETRY_S = 3600


class NoReplyError(UpstreamError):
    """No complete reply came, so that nothing is known of what the neighbour made of the request.

    Only this speaks against the neighbour as such: it opens a circuit, and a request without effects may be repeated.
    `counts` is false where it does not: a caller chose too short a time, or was itself what a reply waited for.
    """

    def __init__(self, code: ErrorCode, detail: str, *, stage: Stage | None = None, counts: bool = True) -> None:
        super().__init__(code, detail, stage=stage)
        self.counts = counts


class RequestRefusedError(UpstreamError):
    """A server of another maker took the request for a faulty one; a bad reply, unless its parts were somebody's wish.

    What the server says about it stays unread: it may quote the request.
    """

    def __init__(self, status: int, detail: str, *, stage: Stage) -> None:
        super().__init__(ErrorCode.UPSTREAM_BAD_REPLY, detail, stage=stage)
        self.refusal = status


class Faults:
    """Names the faults of one neighbour."""

    def __init__(self, stage: Stage, base_url: str) -> None:
        self._stage = stage
        self._base_url = base_url

    def refused(
        self,
        status: int,
        reply_headers: Mapping[str, str],
        body: bytes,
        passing: frozenset[ErrorCode] = frozenset(),
    ) -> UpstreamError:
        """The error for a status that is no success.

        A neighbour's problem document keeps its code and stage, so that it reaches the client as what it is; anything
        else is an overload (429, 503) or a bad reply with its status. So is a refusal that only this service could do
        something about, unless its code is among the `passing` ones.
        """
        retry_after_s = _retry_after_s(reply_headers.get(headers.RETRY_AFTER, ""))
        try:
            problem = Problem.model_validate(strict_json.loads(body))
        except (JSONDecodeError, ValidationError):
            if status in (400, 422):
                bad = self.bad_reply(f"status {status}")
                return RequestRefusedError(status, bad.detail, stage=self._stage)
            if status not in (429, 503):
                return self.bad_reply(f"status {status}")
            detail = f"{self._stage} is overloaded (status {status})"
            return UpstreamError(
                ErrorCode.OVERLOADED,
                detail,
                stage=self._stage,
                retry_after_s=1 if retry_after_s is None else retry_after_s,
            )
        if problem.code in _OURS - passing:
            return self.bad_reply(f"status {status} ({problem.code})")
        if retry_after_s is None and problem.code is ErrorCode.OVERLOADED:
            retry_after_s = 1
        return UpstreamError(
            problem.code, problem.detail, stage=problem.stage, retry_after_s=retry_after_s, errors=problem.errors
        )

    def invalid(self, error: ValidationError) -> UpstreamError:
        """The error for a reply that is JSON but not what was asked for."""
        fault = field_faults(error.errors(include_input=False, include_url=False))[0]
        return self.bad_reply(f"{fault.field}: {fault.message}")

    def bad_reply(self, what: str) -> UpstreamError:
        """The error for a reply that can not be used."""
        return UpstreamError(
            ErrorCode.UPSTREAM_BAD_REPLY, f"the reply of {self._stage} is unusable: {what}", stage=self._stage
        )

    def not_ready(self, readiness: Readiness) -> UpstreamError:
        """The error for a neighbour that answers, but says that it can not work."""
        missing = [one for one in readiness.dependencies if one.required and not one.ready]
        causes = "; ".join(f"{one.name}: {one.cause}" for one in missing)
        return UpstreamError(ErrorCode.NOT_READY, f"{self._stage} is not ready ({causes})", stage=self._stage)

    def timed_out(self, path: str, *, counts: bool) -> NoReplyError:
        """The error for a reply that was not complete at the deadline; `counts` as in NoReplyError."""
        detail = f"{self._stage} did not finish {path} in time"
        return NoReplyError(ErrorCode.UPSTREAM_TIMEOUT, detail, stage=self._stage, counts=counts)

    def out_of_step(self) -> NoReplyError:
        """The error for a connection that gave the reply to another request."""
        broken = self.bad_reply("it answers another request")
        return NoReplyError(broken.code, broken.detail, stage=self._stage)

    def unreachable(self, error: Exception) -> NoReplyError:
        """The error for a connection that could not be made, or that broke off."""
        kind = type(error).__name__
        if isinstance(error, aiohttp.ClientConnectionError):
            detail = f"{self._stage} at {self._base_url} can not be reached ({kind})"
            return NoReplyError(ErrorCode.UPSTREAM_UNREACHABLE, detail, stage=self._stage)
        broken = self.bad_reply(f"the connection broke off ({kind})")
        return NoReplyError(broken.code, broken.detail, stage=self._stage)


def _retry_after_s(value: str) -> int | None:
    seconds = whole_number(value)
    return None if seconds is None else int(min(seconds, _LONGEST_RETRY_S))
