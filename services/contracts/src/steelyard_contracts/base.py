"""The two kinds of payload and the strict number types that they are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Int = Annotated[int, Field(strict=True)]
"""A JSON integer; `true`, `"5"` and `5.0` are refused."""

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""A finite JSON number; `true`, `"5"`, NaN and the infinities are refused."""

Probability = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=1.0)]
"""A finite number in [0, 1]."""

PositiveInt = Annotated[int, Field(strict=True, ge=1)]
NonNegativeInt = Annotated[int, Field(strict=True, ge=0)]
NonNegativeNumber = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0)]


class Request(BaseModel):
    """Something that a caller sends: unknown keys are refused, so that a misspelt one is never silently dropped."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, populate_by_name=True)


class Response(BaseModel):
    """Something that a service answers: unknown keys are ignored, so that an older reader survives a newer writer."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True, populate_by_name=True)
