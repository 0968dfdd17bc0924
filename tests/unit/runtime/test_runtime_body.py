"""What a request body may hold: strict JSON, strict types, and refusals that never quote it."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard_contracts.base import Request, Text
from steelyard_contracts.chat import ChatQnARequest
from steelyard_runtime import strict_json
from steelyard_runtime.faults import field_faults
from steelyard_runtime.strict_json import MAX_DEPTH
from tests.harness.local_client import local_client

from .sample_service import sample_app

CANARY = "CANARY-7f3a"
CLIENT = local_client(sample_app(), raise_server_exceptions=False)


def post(body: bytes | str, content_type: str = "application/json") -> tuple[int, Any]:
    reply = CLIENT.post("/v1/sample", content=body, headers={"Content-Type": content_type})
    return reply.status_code, reply.json()


def nested(depth: int) -> str:
    return '{"items":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


MALFORMED = {
    "nan": '{"number": NaN}',
    "infinity": '{"number": Infinity}',
    "minus infinity": '{"number": -Infinity}',
    "infinite literal": '{"number": 1e400}',
    "huge integer": '{"count": ' + "9" * 400 + "}",
    "lone high surrogate": '{"text": "\\ud800"}',
    "lone low surrogate": '{"text": "\\udc00"}',
    "surrogates in the wrong order": '{"text": "\\udc00\\ud800"}',
    "repeated key": '{"text": "a", "text": "b"}',
    "repeated key spelt with an escape": '{"text": "a", "\\u0074ext": "b"}',
    "repeated nested key": '{"items": [{"text": "a", "text": "b"}]}',
    "too deep": nested(MAX_DEPTH + 1),
    "far too deep": nested(100_000),
    "unclosed": '{"text": "a"',
    "two values": "{}{}",
    "trailing comma": '{"text": "a",}',
    "comment": "{} // no",
    "single quotes": "{'text': 'a'}",
    "raw control character": '{"text": "a\x01b"}',
    "raw NUL": '{"text": "a\x00b"}',
    "no JSON": "text=a",
    "byte order mark": "\ufeff{}",
}


def test_a_want_of_memory_is_not_the_senders_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_body: bytes) -> None:
        raise orjson.JSONDecodeError("Not enough memory to allocate buffer for parsing", "", 0)

    monkeypatch.setattr("steelyard_runtime.strict_json.orjson.loads", full)
    status, problem = post("{}")
    assert (status, problem["code"]) == (500, "internal")


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_what_is_not_strict_json_is_malformed(name: str) -> None:
    status, problem = post(MALFORMED[name])
    assert (status, problem["code"]) == (400, "malformed_json")


@pytest.mark.parametrize("body", [b'{"text": "\xff"}', b"\xff\xfe{\x00}\x00", b'{"text": "\xed\xa0\x80"}', b"\x00"])
def test_what_is_not_utf8_is_malformed(body: bytes) -> None:
    status, problem = post(body)
    assert (status, problem["code"]) == (400, "malformed_json")


INVALID = {
    "unknown key": '{"txt": "a"}',
    "unknown nested key": '{"items": [{"text": "a", "txt": "b"}]}',
    "text with NUL": '{"text": "a\\u0000b"}',
    "nested text with NUL": '{"items": [{"text": "\\u0000"}]}',
    "key with NUL": '{"by_key": {"a\\u0000": 1}}',
    "number as text": '{"text": 5}',
    "null text": '{"text": null}',
    "text as integer": '{"count": "5"}',
    "float as integer": '{"count": 5.0}',
    "exponent as integer": '{"count": 5e0}',
    "truth as integer": '{"count": true}',
    "integer that a double would change": '{"count": 9007199254740992}',
    "float that was an integer beyond 64 bits": '{"count": 99999999999999999999}',
    "zero as a positive integer": '{"k": 0}',
    "minus one as a positive integer": '{"k": -1}',
    "text as number": '{"number": "5"}',
    "truth as number": '{"number": false}',
    "over one": '{"share": 1.0000001}',
    "under zero": '{"share": -0.0000001}',
    "one as truth": '{"flag": 1}',
    "yes as truth": '{"flag": "yes"}',
    "true as text": '{"flag": "true"}',
    "array as object": "[]",
    "null as object": "null",
    "text as object": '"a"',
    "object as array": '{"items": {}}',
    "text as item": '{"items": ["a"]}',
}


@pytest.mark.parametrize("name", sorted(INVALID))
def test_what_breaks_the_contract_is_invalid(name: str) -> None:
    status, problem = post(INVALID[name])
    assert (status, problem["code"]) == (422, "invalid_request")
    assert problem["errors"]


VALID = {
    "zero": '{"number": 0, "share": 0, "count": 0}',
    "minus zero": '{"number": -0.0}',
    "integer as number": '{"number": 5}',
    "false": '{"flag": false}',
    "largest integer": '{"count": 9007199254740991}',
    "deep enough": '{"text": "' + "[{" * 500 + '"}',
    "escaped quotes": json.dumps({"text": 'a \\" \\\\" {"b": [1]} \\\\\\" :'}),
    "astral": '{"text": "\\ud83d\\ude00"}',
    "whitespace": " \t\r\n{ } ",
    "empty text": '{"text": ""}',
}


@pytest.mark.parametrize("name", sorted(VALID))
def test_what_keeps_the_contract_is_read_as_it_is(name: str) -> None:
    status, reply = post(VALID[name])
    assert status == 200
    assert reply["got"] == json.loads(VALID[name])


@pytest.mark.parametrize(
    "body",
    [
        {"text": {"a": CANARY}},
        {"text": [CANARY]},
        {"count": CANARY},
        {"number": CANARY},
        {"flag": CANARY},
        {"items": [{"text": [CANARY]}]},
        {"items": [CANARY]},
        {"items": CANARY},
        {"text": CANARY + "\0"},
        {"by_key": {CANARY: "x"}},
        {"by_key": {CANARY + "\0": 1}},
        {f"unknown {CANARY} key": 1},
        {"x" * 65 + CANARY: 1},
        {"unknown": CANARY},
        CANARY,
        [CANARY],
    ],
)
def test_a_refusal_never_quotes_the_request(body: Any) -> None:
    reply = CLIENT.post("/v1/sample", json=body)
    assert reply.status_code == 422
    assert CANARY not in reply.text
    assert not any(CANARY in value for value in reply.headers.values())


@pytest.mark.parametrize("body", [f'{{"text": "{CANARY}"', f"{CANARY}", f'{{"{CANARY}": 1, "{CANARY}": 2}}'])
def test_a_refusal_of_malformed_json_never_quotes_it(body: str) -> None:
    status, problem = post(body)
    assert status == 400
    assert CANARY not in json.dumps(problem)


def test_an_unknown_key_is_named() -> None:
    _, problem = post('{"items": [{"text": "a"}, {"text": "b", "txt": 1}]}')
    assert problem["errors"] == [{"field": "items.1.txt", "message": "Extra inputs are not permitted"}]


def test_the_names_of_a_payload_that_is_defined_later_are_known_too() -> None:
    assert post('{"items": [{"text": 1}]}')[0] == 422
    error = {"type": "string_type", "loc": ("body", "items", 0, "defined_later"), "msg": "Input should be a string"}
    assert field_faults([error])[0].field == "items.0"

    class Later(Request):
        defined_later: Text

    assert field_faults([error])[0].field == "items.0.defined_later"


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (5, {("messages", "Input should be a valid string"), ("messages", "Input should be a valid list")}),
        ([], {("messages", "List should have at least 1 item after validation, not 0")}),
        ([{"content": "a"}], {("messages.0.role", "Field required")}),
        (
            [{"role": "user", "content": "a\0"}],
            {("messages.0.content", "Text should hold no NUL character")},
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": 1}]}],
            {("messages.0.content.0.text", "Input should be a valid string")},
        ),
    ],
)
def test_of_what_may_be_of_two_types_only_the_one_that_was_meant_is_told(
    messages: Any, told: set[tuple[str, str]]
) -> None:
    with pytest.raises(ValidationError) as refused:
        ChatQnARequest.model_validate({"messages": messages})
    assert {(fault.field, fault.message) for fault in field_faults(refused.value.errors())} == told


def test_a_wrong_path_or_query_value_is_not_quoted() -> None:
    reply = CLIENT.get(f"/v1/items/{CANARY}?limit={CANARY}")
    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == "limit"
    assert CANARY not in reply.text


def test_many_faults_are_listed_up_to_a_limit() -> None:
    _, problem = post(json.dumps({"items": [{"text": 1}] * 1000}))
    assert len(problem["errors"]) == 50


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "text/json", "json"])
def test_a_body_that_does_not_say_it_is_json_is_refused(content_type: str) -> None:
    status, problem = post("{}", content_type)
    assert (status, problem["code"]) == (415, "unsupported_type")


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/a+json"])
def test_a_body_that_says_it_is_json_is_read(content_type: str) -> None:
    assert post("{}", content_type)[0] == 200


def test_no_body_is_a_missing_body() -> None:
    status, problem = post("")
    assert (status, problem["errors"][0]["field"]) == (422, "body")


def test_a_broken_form_is_a_client_error() -> None:
    reply = CLIENT.post("/v1/upload", content=b"junk", headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert reply.status_code == 422
    assert reply.json()["code"] == "invalid_request"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.sampled_from('ab"\\:{[ é'), max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON, st.booleans(), st.sampled_from([None, 1]))
@settings(max_examples=200, deadline=None)
def test_strict_json_reads_what_the_standard_library_writes(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert strict_json.loads(text.encode()) == value


@given(JSON, st.data())
@settings(max_examples=200, deadline=None)
def test_a_repeated_key_is_found_wherever_it_is(value: Any, data: st.DataObject) -> None:
    text = json.dumps({"a": value, "b": [{"c": value}]})
    twice = data.draw(
        st.sampled_from([text.replace('"a":', '"b": 0, "a":', 1), text.replace('"c":', '"c": 0, "c":', 1)])
    )
    with pytest.raises(json.JSONDecodeError, match="occurs twice"):
        strict_json.loads(twice.encode())


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_the_depth_limit_is_exact(opening: str) -> None:
    closing = {"[": "]", '{"a":': "}"}[opening]
    strict_json.loads((opening * (MAX_DEPTH - 1) + "[]" + closing * (MAX_DEPTH - 1)).encode())
    with pytest.raises(json.JSONDecodeError, match="nested deeper"):
        strict_json.loads((opening * MAX_DEPTH + "[]" + closing * MAX_DEPTH).encode())
