"""Errors that end a command, each with its exit code.

Errors::

    CliError                      ends the command with one message (exit 1)
    ├── RequestRefusedError       a service answered with a problem document (exit 1; 3 when it is not ready)
    ├── BrokenReplyError          a service's reply is not what its contract says, or a stream broke off (exit 1)
    ├── UsageError                the command line is wrong (exit 2)
    ├── ConfigurationError        a setting, an env file or an input file is refused (exit 2)
    ├── StoreFailedError          the store refused or failed (exit 1; 3 when it can not be used now)
    ├── UnreachableError          nothing answers at the service's address (exit 3)
    └── StackError                the stack did not start, or is not ready (exit 3)
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from steelyard_contracts.errors import ErrorCode

from .exits import ExitCode

NOT_READY_CODES = frozenset(
    {
        ErrorCode.NOT_READY,
        ErrorCode.OVERLOADED,
        ErrorCode.RATE_LIMITED,
        ErrorCode.STORE_UNAVAILABLE,
        ErrorCode.MODEL_UNAVAILABLE,
        ErrorCode.UPSTREAM_UNREACHABLE,
        ErrorCode.INTERRUPTED,
    }
)
"""Codes that mean "later, perhaps", for which a command exits 3 instead of 1."""


class CliError(Exception):
    """Ends the command with one message; `hint` says what to do about it."""

    code: ClassVar[str] = "failed"
    exit_code: ExitCode = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def as_json(self) -> dict[str, Any]:
        """The error as it is written to standard error with `--json`."""
        said: dict[str, Any] = {"code": self.code, "message": str(self)}
        return said if self.hint is None else {**said, "hint": self.hint}


class RequestRefusedError(CliError):
    """A service answered with a problem document."""

    def __init__(self, code: str, detail: str, stage: str, request_id: str, retry_after_s: float | None = None) -> None:
        super().__init__(f"{code}: {detail} ({stage}, request {request_id})")
        self.problem_code = code
        self.detail = detail
        self.stage = stage
        self.request_id = request_id
        self.retry_after_s = retry_after_s
        self.exit_code = ExitCode.UNAVAILABLE if code in NOT_READY_CODES else ExitCode.FAILED

    def as_json(self) -> dict[str, Any]:
        """The problem's own code, stage and request id."""
        return {
            "code": self.problem_code,
            "message": self.detail,
            "stage": self.stage,
            "request_id": self.request_id,
        }


class BrokenReplyError(CliError):
    """A service's reply is not what its contract says."""

    code = "broken_reply"


class UsageError(CliError):
    """The command line is wrong."""

    code = "usage"
    exit_code = ExitCode.USAGE


class ConfigurationError(CliError):
    """A setting, an env file or an input file is refused; the message has one line per fault.

    `faults` are those of a document, by the field that each is about.
    """

    code = "configuration"
    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, hint: str | None = None, faults: Sequence[tuple[str, str]] = ()) -> None:
        lines = [f"{field}: {said}" for field, said in faults]
        # What is refused is named once: before its only fault, or above them all.
        super().__init__((": " if len(lines) == 1 else "\n    ").join([message, *lines]), hint=hint)
        self.faults = faults

    def as_json(self) -> dict[str, Any]:
        """The faults as a list too, when they are known one by one."""
        said = super().as_json()
        if not self.faults:
            return said
        return {**said, "faults": [{"field": field, "message": words} for field, words in self.faults]}


class StoreFailedError(CliError):
    """The store refused what was asked of it, or can not be used."""

    code = "store_failed"

    def __init__(self, message: str, exit_code: ExitCode) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class UnreachableError(CliError):
    """Nothing answers at the service's address."""

    code = "unreachable"
    exit_code = ExitCode.UNAVAILABLE


class StackError(CliError):
    """The stack did not start, or is not ready."""

    code = "not_ready"
    exit_code = ExitCode.UNAVAILABLE
