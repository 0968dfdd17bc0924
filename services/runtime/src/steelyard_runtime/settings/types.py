"""Setting types that read the environment's text strictly: no `5.0` for an integer, no `yes` for a truth value."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

_INT = re.compile(r"[+-]?\d+")
_TRUTH = {"true": True, "false": False}


def _int_from_text(value: Any) -> Any:
    if isinstance(value, str):
        if not _INT.fullmatch(value.strip()):
            raise ValueError("should be a whole number")
        return int(value)
    return value


def _float_from_text(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise ValueError("should be a number") from None
    return value


def _bool_from_text(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return _TRUTH[value.strip().lower()]
        except KeyError:
            raise ValueError("should be true or false") from None
    return value


def _none_from_empty(value: Any) -> Any:
    return None if value == "" else value


def _names_from_text(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


IntSetting = Annotated[int, BeforeValidator(_int_from_text), Field(strict=True)]
FloatSetting = Annotated[float, BeforeValidator(_float_from_text), Field(strict=True, allow_inf_nan=False)]
BoolSetting = Annotated[bool, BeforeValidator(_bool_from_text), Field(strict=True)]
OptionalProbabilitySetting = Annotated[
    Annotated[float, BeforeValidator(_float_from_text), Field(strict=True, allow_inf_nan=False, ge=0, le=1)] | None,
    BeforeValidator(_none_from_empty),
]
"""A number in [0, 1], or off when the text is empty. The range is inside, because off has none."""
OptionalCosineSetting = Annotated[
    Annotated[float, BeforeValidator(_float_from_text), Field(strict=True, allow_inf_nan=False, ge=-1, le=1)] | None,
    BeforeValidator(_none_from_empty),
]
"""A cosine, or off when the text is empty."""
OptionalTextSetting = Annotated[str | None, BeforeValidator(_none_from_empty)]
NamesSetting = Annotated[tuple[str, ...], BeforeValidator(_names_from_text)]
"""Names separated by commas."""
