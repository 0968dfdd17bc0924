"""JSON as every reader understands it: no NaN, no infinities, no lone surrogates, no repeated keys, no deep nesting."""

from itertools import chain
from json import JSONDecodeError
from typing import Any

import orjson

MAX_DEPTH = 64

_NO_STRUCTURE = bytes(set(range(256)) - set(b'[]{}:"'))


def loads(body: bytes) -> Any:
    """The JSON value of `body`; raises JSONDecodeError, whose message never quotes the body.

    orjson refuses what is not JSON, numbers that are infinite as a double, and surrogates without a partner. It keeps
    the last of a repeated key, so that two readers of one body could act on different values; that is refused here.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise JSONDecodeError(error.msg, "", error.pos) from None
    outline = _outline(body)
    if _is_deeper(outline, MAX_DEPTH):
        raise JSONDecodeError(f"nested deeper than {MAX_DEPTH}", "", 0)
    if outline.count(b":") != _count_keys(value):
        raise JSONDecodeError("a key occurs twice in one object", "", 0)
    return value


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


def _count_keys(value: Any) -> int:
    count = 0
    level = [value]
    while level:
        objects = [item for item in level if type(item) is dict]
        arrays = [item for item in level if type(item) is list]
        count += sum(map(len, objects))
        inside = chain(chain.from_iterable(map(dict.values, objects)), chain.from_iterable(arrays))
        level = [item for item in inside if type(item) is dict or type(item) is list]
    return count
