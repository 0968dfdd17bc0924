"""The two kinds of payload and the strict types that they are made of.

Numbers are finite and bounded by what JSON readers agree on, so that no service has to expect `true`, `"5"`, `5.0` for
an integer, NaN, `1e400` or a 400-digit integer. Text holds no NUL, which neither a store nor a model server could keep.
"""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.config import ExtraValues

_LARGEST = 2**53 - 1

NO_NUL = r"^[^\x00]*$"
"""What `Text` matches; the error for a text that does not match it is worded by the app factory."""

Int = Annotated[int, Field(strict=True, ge=-_LARGEST, le=_LARGEST)]
"""A JSON integer that a double holds exactly; `true`, `"5"` and `5.0` are refused."""

PositiveInt = Annotated[int, Field(strict=True, ge=1, le=_LARGEST)]
"""An integer that counts from 1."""

NonNegativeInt = Annotated[int, Field(strict=True, ge=0, le=_LARGEST)]
"""An integer that counts from 0."""

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""A finite JSON number; `true`, `"5"`, NaN and the infinities are refused."""

NonNegativeNumber = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0)]
"""A finite number of at least 0."""

Probability = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=1.0)]
"""A finite number in [0, 1]."""

Bool = Annotated[bool, Field(strict=True)]
"""`true` or `false`; `1`, `"yes"` and `"true"` are refused."""

Text = Annotated[str, StringConstraints(strict=True, pattern=NO_NUL)]
"""Unicode text without NUL and without lone surrogates; it may be empty."""

Name = Annotated[str, StringConstraints(strict=True, pattern=NO_NUL, min_length=1)]
"""A text that names something, so never an empty one."""

Nothing = Annotated[list[Any], Field(max_length=0)]
"""A list that must be empty: a field which another stack fills and this one would ignore."""


DECLARED_NAMES: set[str] = set()
"""Every field and alias of every payload that exists: what a message about a refused payload may name."""


class _Payload(BaseModel):
    """Either kind of payload; its names are noted once, when it is defined."""

    model_config = ConfigDict(hide_input_in_errors=True, populate_by_name=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Note the names of a payload."""
        super().__pydantic_init_subclass__(**options)
        for name, field in cls.model_fields.items():
            DECLARED_NAMES.add(name)
            choices = getattr(field.validation_alias, "choices", ())
            DECLARED_NAMES.update(choice for choice in choices if isinstance(choice, str))


class Request(_Payload):
    """Something that a caller sends: unknown keys are refused, so that a misspelt one is never silently dropped."""

    model_config = ConfigDict(extra="forbid")


class Response(_Payload):
    """Something that a service answers: unknown keys are ignored, so that an older reader survives a newer writer.

    That holds at every level: a request payload inside a reply (a document, its metadata) ignores unknown keys too.
    """

    model_config = ConfigDict(extra="ignore")

    @classmethod
    def model_validate(cls, obj: Any, *, extra: ExtraValues | None = None, **options: Any) -> Self:
        """Validate a reply; raises ValidationError."""
        return super().model_validate(obj, extra=extra or "ignore", **options)

    @classmethod
    def model_validate_json(
        cls, json_data: str | bytes | bytearray, *, extra: ExtraValues | None = None, **options: Any
    ) -> Self:
        """Validate a reply's JSON text; raises ValidationError."""
        return super().model_validate_json(json_data, extra=extra or "ignore", **options)
