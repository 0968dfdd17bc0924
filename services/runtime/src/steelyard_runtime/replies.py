"""Replies as JSON by orjson, without validating again what this service has just built."""

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi.responses import Response
from pydantic import BaseModel


def json_reply(payload: BaseModel | Mapping[str, Any], status: int = 200) -> Response:
    """The HTTP reply of a payload; a model's absent optional fields are left out."""
    value = payload.model_dump(mode="json", exclude_none=True) if isinstance(payload, BaseModel) else payload
    body = orjson.dumps(value)
    return Response(body, status_code=status, media_type="application/json")
