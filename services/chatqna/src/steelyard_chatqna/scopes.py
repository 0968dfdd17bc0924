"""Which permission scopes a caller's request is about."""

from collections.abc import Sequence

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.guard import Caller
from steelyard_runtime.scopes import named_scopes


def covered(existing: Sequence[str], caller: Caller) -> tuple[str, ...]:
    """The scopes that exist and that the caller may see; raises `scope_forbidden` when there is none."""
    if caller.scopes is None:
        return tuple(existing)
    found = tuple(scope for scope in existing if scope in caller.scopes)
    if not found:
        raise SteelyardError(ErrorCode.SCOPE_FORBIDDEN, "the API key covers no scope that exists")
    return found


def readable(named: Sequence[str] | None, existing: Sequence[str], caller: Caller) -> tuple[str, ...]:
    """The scopes that a request reads: those it names, or else all those of its key, or without keys the default one.

    Raises `scope_required` for an empty list, `scope_forbidden` or `scope_unknown`.
    """
    if caller.scopes is None:
        return named_scopes(named, existing)
    mine = covered(existing, caller)
    if named is None:
        return mine
    if any(scope not in mine for scope in named):
        # Which of them exist is not said: a key learns nothing about scopes that are not its own.
        raise SteelyardError(ErrorCode.SCOPE_FORBIDDEN, "scopes: the API key does not cover all of them")
    return named_scopes(named, existing)


def writable(named: Sequence[str] | None, existing: Sequence[str], caller: Caller) -> tuple[str, ...]:
    """The scopes in which a request may change documents: as `readable`, but of several none is guessed.

    Raises `write_forbidden` for a key that may only read, and `scope_required` besides what `readable` raises.
    """
    check_writes(caller)
    scopes = readable(named, existing, caller)
    if named is None and len(scopes) > 1:
        raise SteelyardError(ErrorCode.SCOPE_REQUIRED, f"scopes: should name some of {', '.join(scopes)}")
    return scopes


def check_writes(caller: Caller) -> None:
    """Raise `write_forbidden` for a key that may only read."""
    if not caller.writes:
        raise SteelyardError(
            ErrorCode.WRITE_FORBIDDEN, "the API key may only read documents; `steelyard keys add --write` makes others"
        )
