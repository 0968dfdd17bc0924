"""Validation errors in words: which fields were refused and why, never a part of what was sent."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from steelyard_contracts.base import DECLARED_NAMES, NO_NUL
from steelyard_contracts.errors import FieldFault

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_PARTS_OF_A_REQUEST = frozenset({"body", "query", "path", "header", "cookie"})
_MOST = 50


def field_faults(errors: Iterable[Mapping[str, Any]]) -> list[FieldFault]:
    """The faults of pydantic's `errors`, at most 50.

    A location holds declared names and positions. What a sender chose (the keys of a mapping) and what pydantic added
    (the branch of a union) is left out; an unknown key is named, because it is the fault, when it looks like a name.
    Of a field that may be of several types, those are not told that it plainly is not, when more is wrong with it.
    """
    faults: dict[tuple[str, str], bool] = {}
    for error in errors:
        faults.setdefault((_field(error), _message(error)), error["type"].endswith("_type"))
        if len(faults) == _MOST:
            break
    known_better = {field for (field, _), of_type in faults.items() if not of_type}
    deeper = {field[:end] for field, _ in faults for end, sign in enumerate(field) if sign == "."}
    return [
        FieldFault(field=field, message=message)
        for (field, message), of_type in faults.items()
        if not (of_type and (field in known_better or field in deeper))
    ]


def _field(error: Mapping[str, Any]) -> str:
    location = list(error["loc"])
    if location and location[0] in _PARTS_OF_A_REQUEST:
        location = location[1:]
    if len(location) > 1 and location[0] not in DECLARED_NAMES and isinstance(location[1], str):
        location = location[1:]  # the form of a payload that has two
    unknown: list[str] = []
    if error["type"] == "extra_forbidden" and location:
        key = str(location.pop())
        unknown = [key if _PLAIN_KEY.fullmatch(key) else "(a key)"]
    # FastAPI puts the names of query, path and form parameters first, which no payload declares.
    kept = [
        str(part)
        for position, part in enumerate(location)
        if isinstance(part, int) or part in DECLARED_NAMES or (position == 0 and _PLAIN_KEY.fullmatch(part))
    ]
    return ".".join(kept + unknown) or "body"


def _message(error: Mapping[str, Any]) -> str:
    if error["type"] == "string_pattern_mismatch" and error.get("ctx", {}).get("pattern") == NO_NUL:
        return "Text should hold no NUL character"
    return str(error["msg"]).removeprefix("Value error, ")
