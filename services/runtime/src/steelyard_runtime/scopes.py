"""Which permission scopes a request sees."""

from collections.abc import Sequence

from steelyard_contracts.errors import ErrorCode, SteelyardError

SCOPE_CHARACTER = r"[^\s,\x00]"
LONGEST_SCOPE = 128
"""What the name of a scope is made of, for the settings that declare scopes and the API keys that are given some."""


def named_scopes(named: Sequence[str] | None, existing: Sequence[str]) -> tuple[str, ...]:
    """The scopes that a request names, each once; None names the default, which is the first of `existing`.

    Raises `scope_required` when it names none, and `scope_unknown` for those that do not exist: a mistake never widens
    what is seen.
    """
    if named is None:
        return (existing[0],)
    if not named:
        raise SteelyardError(ErrorCode.SCOPE_REQUIRED, "scopes: is empty; only named scopes are seen")
    unknown = sorted(set(named) - set(existing))
    if unknown:
        raise SteelyardError(ErrorCode.SCOPE_UNKNOWN, f"scopes: {', '.join(unknown)} does not exist")
    return tuple(dict.fromkeys(named))
