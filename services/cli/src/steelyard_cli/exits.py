"""Exit codes of every `steelyard` command."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit code says; `EXIT_TABLE` says it to users."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNAVAILABLE = 3
    INTERRUPTED = 130


EXIT_TABLE: dict[ExitCode, str] = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "the thing asked for failed: a file was rejected, no evidence was found, a request was refused",
    ExitCode.USAGE: "wrong usage, a refused setting or a malformed input file; nothing was done",
    ExitCode.UNAVAILABLE: "a service is unreachable or not ready",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
}
"""The one table of exit codes; the help text and the README are made from it."""


def exit_help() -> str:
    """The table as lines of text."""
    return "\n\n".join(f"exit {code.value}: {meaning}" for code, meaning in EXIT_TABLE.items())
