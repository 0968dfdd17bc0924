"""JSON as every reader understands it: no NaN, no infinities, no lone surrogates, no repeated keys, no deep nesting."""

from json import JSONDecodeError
from typing import Any

import orjson

MAX_DEPTH = 64

_NO_MEMORY = "Not enough memory"
"""How orjson calls a want of memory, which is nobody's fault who sent the body."""
_ESCAPED_COLON = b"\\u003"
_NO_STRUCTURE = bytes(set(range(256)) - set(b'[]{}:"'))


def loads(body: bytes) -> Any:
    """The JSON value of `body`; raises JSONDecodeError, whose message never quotes the body, and MemoryError.

    orjson refuses what is not JSON, numbers that are infinite as a double, and surrogates without a partner. It keeps
    the last of a repeated key, so that two readers of one body could act on different values; that is refused here.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if error.msg.startswith(_NO_MEMORY):
            raise MemoryError from None
        raise JSONDecodeError(error.msg, "", error.pos) from None
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _is_deeper(_outline(body), MAX_DEPTH):
        raise JSONDecodeError(f"nested deeper than {MAX_DEPTH}", "", 0)
    if _lost_a_key(body, value):
        raise JSONDecodeError("a key occurs twice in one object", "", 0)
    return value


def _lost_a_key(body: bytes, value: Any) -> bool:
    """Whether `value` has fewer keys than `body`, seen at the colons of `value` written down again.

    Writing keeps every colon of a text and every colon after a key that is left. Only an escaped colon, which no writer
    of JSON needs, could make up for a lost one; then just the colons outside of strings are compared.
    """
    written = orjson.dumps(value)
    if b"\\" in body and _ESCAPED_COLON in body:
        return _outline(body).count(b":") != _outline(written).count(b":")
    return body.count(b":") != written.count(b":")


def _outline(body: bytes) -> bytes:
    """The brackets, braces and colons of a valid JSON text that are outside of its strings, in order."""
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(body.translate(None, _NO_STRUCTURE).split(b'"')[::2])


def _is_deeper(outline: bytes, limit: int) -> bool:
    """Whether brackets nest deeper than `limit`: each round removes the innermost pairs, at the speed of `replace`."""
    brackets = outline.replace(b":", b"").replace(b"{", b"[").replace(b"}", b"]")
    for _ in range(limit):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)
