"""Settings in words: what a setting allows and what its default is, both taken from its declaration."""

import enum
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic.fields import FieldInfo

from .types import Allowed

_LARGEST_WHOLE = 1e15
_KINDS = {int: "a whole number", float: "a number", str: "a text", Path: "a path", bool: "true or false"}


def allowed(info: FieldInfo) -> str:
    """The values that a setting takes, such as `a whole number from 1 to 1000, or empty`."""
    kind, metadata, optional = _unwrapped(info.annotation, list(info.metadata))
    said = next((item.words for item in metadata if isinstance(item, Allowed)), None)
    if said is not None:
        words = said
    elif get_origin(kind) is Literal:
        words = _one_of(get_args(kind))
    elif isinstance(kind, type) and issubclass(kind, enum.Enum):
        words = _one_of(member.value for member in kind)
    else:
        words = _KINDS.get(kind, str(kind)) + _range(metadata)
    return f"{words}, or empty" if optional else words


def type_name(info: FieldInfo) -> str:
    """The kind of value in one word, for tables: integer, number, truth, text, path, names or choice."""
    kind, _, _ = _unwrapped(info.annotation, [])
    if get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        return "choice"
    if get_origin(kind) is tuple:
        return "names"
    return {int: "integer", float: "number", bool: "truth", str: "text", Path: "path"}[kind]


def bounds(info: FieldInfo) -> dict[str, float]:
    """The range of a number: `ge`, `gt`, `le` and `lt` as far as it has them; empty for everything else."""
    kind, metadata, _ = _unwrapped(info.annotation, list(info.metadata))
    if kind not in (int, float):
        return {}
    names = ((item, name) for item in metadata for of, name in _BOUNDS.items() if isinstance(item, of))
    return {name: getattr(item, name) for item, name in names}


def as_text(value: Any) -> str:
    """A setting's value as the environment would hold it; None is the empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return str(int(value))
    return str(value)


def default_text(info: FieldInfo) -> str:
    """A setting's default as the environment would hold it; empty when it must be set."""
    return "" if info.is_required() else as_text(info.get_default(call_default_factory=True))


def admits_empty(info: FieldInfo) -> bool:
    """Whether the empty text is a value of this setting."""
    return _unwrapped(info.annotation, [])[2]


def _one_of(values: Any) -> str:
    *first, last = [str(value) for value in values]
    return f"{', '.join(first)} or {last}" if first else last


def _unwrapped(kind: Any, metadata: list[Any]) -> tuple[Any, list[Any], bool]:
    """The bare type, everything that annotates it, and whether None is allowed."""
    optional = False
    while True:
        if hasattr(kind, "__metadata__"):
            metadata = [*metadata, *_flat(kind.__metadata__)]
            kind = kind.__origin__
        elif get_origin(kind) in (Union, types.UnionType):
            inner = [arm for arm in get_args(kind) if arm is not type(None)]
            optional = optional or len(inner) < len(get_args(kind))
            kind = inner[0]
        else:
            return kind, metadata, optional


def _flat(metadata: tuple[Any, ...]) -> list[Any]:
    flat: list[Any] = []
    for item in metadata:
        flat.extend(item.metadata if isinstance(item, FieldInfo) else [item])
    return flat


def _range(metadata: list[Any]) -> str:
    found: dict[type, Any] = {}
    for item in metadata:
        for kind, name in _BOUNDS.items():
            if isinstance(item, kind):
                found[kind] = getattr(item, name)
    if (shortest := found.get(annotated_types.MinLen)) is not None:
        return f" of at least {shortest} character{'s' if shortest > 1 else ''}"
    least, above = found.get(annotated_types.Ge), found.get(annotated_types.Gt)
    most, below = found.get(annotated_types.Le), found.get(annotated_types.Lt)
    if least is not None and most is not None:
        return f" from {least} to {most}"
    parts = [
        words
        for bound, words in (
            (least, f"of at least {least}"),
            (above, f"above {above}"),
            (most, f"of at most {most}"),
            (below, f"below {below}"),
        )
        if bound is not None
    ]
    return f" {' and '.join(parts)}" if parts else ""


_BOUNDS: dict[type, str] = {
    annotated_types.Ge: "ge",
    annotated_types.Gt: "gt",
    annotated_types.Le: "le",
    annotated_types.Lt: "lt",
    annotated_types.MinLen: "min_length",
}
