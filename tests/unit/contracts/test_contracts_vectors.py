"""The vector's wire forms: exact in both directions, strict about form, silent about content."""

import base64
import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from steelyard_contracts.vectors import Vector

ADAPTER = TypeAdapter(Vector)
FLOATS = st.lists(st.floats(width=32), max_size=64)


def float32(values: list[float]) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


@given(FLOATS)
@settings(max_examples=200, deadline=None)
def test_bytes_are_little_endian_float32(values: list[float]) -> None:
    vector = Vector.from_floats(values)
    assert vector.dim == len(values)
    assert all(math.isnan(a) if math.isnan(b) else a == b for a, b in zip(vector.to_floats(), values, strict=True))
    # A signalling NaN may become a quiet one on its way through a double; every other value keeps its bits.
    if not any(map(math.isnan, values)):
        assert vector.data == float32(values)


@given(st.binary(max_size=64).map(lambda data: data[: len(data) // 4 * 4]))
@settings(max_examples=200, deadline=None)
def test_any_bits_survive_every_compact_form(data: bytes) -> None:
    vector = Vector(data)
    text = base64.b64encode(data).decode()
    wire = json.loads(ADAPTER.dump_json(vector))
    assert wire == {"dim": len(data) // 4, "base64": text}
    for form in (wire, text, vector):
        assert ADAPTER.validate_python(form).data == data
    assert ADAPTER.validate_json(json.dumps(wire)) == vector
    assert hash(Vector(data)) == hash(vector)


@given(st.lists(st.floats(allow_nan=False, width=64, min_value=-3e38, max_value=3e38), max_size=16))
@settings(max_examples=200, deadline=None)
def test_a_list_is_rounded_once_to_float32(values: list[float]) -> None:
    assert ADAPTER.validate_python(values).data == float32(values)


REFUSED: dict[str, Any] = {
    "text in a list": [1.0, "2"],
    "truth in a list": [True],
    "null in a list": [None],
    "list in a list": [[1.0]],
    "huge integer": [10**400],
    "beyond float32": [1e39],
    "beyond float32, negative": [-1e300],
    "number": 1.0,
    "null": None,
    "truth": True,
    "tuple": (1.0,),
    "not base64": "AAAA!",
    "stray character in base64": "AA!AAAA==",
    "data after the padding": "AAAAAA==AAAAAA==",
    "base64 without padding": "AAAAAA",
    "base64 of five bytes": base64.b64encode(b"12345").decode(),
    "base64 with a line break": "AAAA\nAAA=",
    "url-safe base64": "__-_AA==",
    "not ascii": "ÄÄÄÄ",
    "dim too large": {"dim": 2, "base64": base64.b64encode(float32([1.0])).decode()},
    "dim too small": {"dim": 0, "base64": base64.b64encode(float32([1.0])).decode()},
    "dim negative": {"dim": -1, "base64": ""},
    "dim as truth": {"dim": True, "base64": base64.b64encode(float32([1.0])).decode()},
    "dim as float": {"dim": 1.0, "base64": base64.b64encode(float32([1.0])).decode()},
    "dim as text": {"dim": "1", "base64": base64.b64encode(float32([1.0])).decode()},
    "no dim": {"base64": ""},
    "no base64": {"dim": 0},
    "another key": {"dim": 0, "base64": "", "dtype": "f4"},
    "base64 as list": {"dim": 1, "base64": [1.0]},
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_another_form_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        ADAPTER.validate_python(REFUSED[name])


@pytest.mark.parametrize("value", ["CANARY", {"dim": 123456789, "base64": "AAAA"}, ["CANARY"], [987654321, "x"]])
def test_a_refusal_never_quotes_the_vector(value: Any) -> None:
    with pytest.raises(ValidationError) as refusal:
        ADAPTER.validate_python(value)
    message = refusal.value.errors()[0]["msg"]
    assert not any(part in message for part in ("CANARY", "123456789", "987654321", "AAAA"))


@pytest.mark.parametrize("values", [[math.nan], [math.inf, 1.0], [0.0, 0.0], []])
def test_what_only_a_computing_service_can_judge_is_carried(values: list[float]) -> None:
    vector = Vector.from_floats(values)
    assert str(vector.to_floats()) == str(values)
    assert ADAPTER.validate_json(ADAPTER.dump_json(vector)).data == vector.data


def test_a_vector_shows_its_dimension_only() -> None:
    assert repr(Vector.from_floats([0.123, 4.0])) == "Vector(dim=2)"
    assert Vector.from_floats([1.0]) != [1.0]


def test_the_schema_offers_the_three_forms() -> None:
    assert [form["type"] for form in ADAPTER.json_schema()["anyOf"]] == ["array", "string", "object"]
