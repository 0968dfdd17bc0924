"""The embedding vector as it travels: base64 of little-endian float32 with its dimension, or a JSON list of numbers."""

from __future__ import annotations

import base64
import binascii
import math
import sys
from array import array
from collections.abc import Iterable
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

_BYTES_PER_VALUE = 4
_NUMBER_TYPES = frozenset({int, float})


class Vector:
    """A float32 vector held as its little-endian bytes, so that forwarding it costs no conversion.

    The type proves form only (numbers, and as many as `dim` says). Whether the values are finite, non-zero and of the
    right dimension is a question of integrity that the service which computes with them answers.
    """

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        if len(data) % _BYTES_PER_VALUE:
            raise ValueError(f"a vector's bytes come in fours (float32), got {len(data)} bytes")
        self.data = bytes(data)

    @classmethod
    def from_floats(cls, values: Iterable[float]) -> Vector:
        """Build a vector from numbers.

        Raises ValueError for anything that is not an int or float, and for a finite number beyond float32's range.
        """
        numbers = list(values)
        if not set(map(type, numbers)) <= _NUMBER_TYPES:
            position = next(i for i, value in enumerate(numbers) if type(value) not in _NUMBER_TYPES)
            raise ValueError(f"vector value {position} is not a number")
        try:
            packed = array("f", numbers)
            overflown = sum(map(math.isinf, packed)) != sum(map(math.isinf, numbers))
        except OverflowError as error:
            raise ValueError("a vector value is too large for a float32") from error
        if overflown:
            raise ValueError("a vector value is too large for a float32")
        if sys.byteorder == "big":
            packed.byteswap()
        return cls(packed.tobytes())

    @classmethod
    def from_base64(cls, text: str, dim: int | None = None) -> Vector:
        """Decode base64 float32; raises ValueError when the text is not base64 or `dim` disagrees with its length."""
        try:
            vector = cls(base64.b64decode(text, validate=True))
        except binascii.Error as error:
            raise ValueError("a vector's base64 text is malformed") from error
        if dim is not None and vector.dim != dim:
            raise ValueError(f"a vector's base64 text holds {vector.dim} values, which is not its dim")
        return vector

    @property
    def dim(self) -> int:
        """The number of values."""
        return len(self.data) // _BYTES_PER_VALUE

    def to_floats(self) -> list[float]:
        """The values as Python floats (each one a float32)."""
        unpacked = array("f", self.data)
        if sys.byteorder == "big":
            unpacked.byteswap()
        return unpacked.tolist()

    def to_base64(self) -> str:
        """The values as OpenAI's `encoding_format: base64` writes them."""
        return base64.b64encode(self.data).decode("ascii")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)

    def __repr__(self) -> str:
        return f"Vector(dim={self.dim})"

    @classmethod
    def _validate(cls, value: Any) -> Vector:
        if isinstance(value, Vector):
            return value
        if isinstance(value, list):
            return cls.from_floats(value)
        if isinstance(value, str):
            return cls.from_base64(value)
        if isinstance(value, dict) and set(value) == {"dim", "base64"}:
            dim, text = value["dim"], value["base64"]
            if type(dim) is int and isinstance(text, str):
                return cls.from_base64(text, dim)
        raise ValueError('a vector is a list of numbers, a base64 text, or {"dim": int, "base64": text}')

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda vector: {"dim": vector.dim, "base64": vector.to_base64()}
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "title": "Vector",
            "description": "A float32 vector: a list of numbers, or base64 of its little-endian bytes.",
            "anyOf": [
                {"type": "array", "items": {"type": "number"}},
                {"type": "string", "contentEncoding": "base64"},
                {
                    "type": "object",
                    "properties": {
                        "dim": {"type": "integer", "minimum": 0},
                        "base64": {"type": "string", "contentEncoding": "base64"},
                    },
                    "required": ["dim", "base64"],
                    "additionalProperties": False,
                },
            ],
        }
