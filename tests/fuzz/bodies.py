"""Bodies that no honest client sends, made from one that is right: for every route that takes a body."""

import json
import random
from collections.abc import Iterator
from typing import Any

RAW = (
    "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "9" * 400, "-" + "9" * 400, "1E+400", "5e-324", "-0.0", "0",
    "-1", "1", "0.5", "9007199254740993", "18446744073709551616", "01", "1.", ".5", "+1", "0x1F", "true", "null",
    '""', '" "', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\u202e\\u200b\\ufeff"', '"👩\\u200d🔧"', "'a'", '"a',
    '"' + "x" * 100_000 + '"', '"' + "\\u0041" * 10_000 + '"', '"../../etc/passwd"', '"<script>"', '"%00"', '"{}"',
    "[]", "{}", "[null]", "[[]]", "[" * 600 + "]" * 600, '{"a":' * 600 + "1" + "}" * 600, "[" + "null," * 999 + "null]",
    '{"":1}', '{"__proto__":{}}', '{"a":1,"a":2}', "undefined", "\x00", "\x01", "// x", "[1,]",
)  # fmt: skip
"""What is put in the place of each value of a right body, as it stands in JSON or does not."""

_WHOLE = (
    b"", b" ", b"null", b"[]", b"0", b'"a"', b"{", b"}", b"{}{}", b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b"\x00",
    b'{"a": "\xff"}', b'{"a": "\xed\xa0\x80"}', b"[" * 100_000, b'{"a":' * 100_000, b"a=b&c=d", b"\r\n\r\n", b"{}//",
)  # fmt: skip
_MARK = "@here@"


def bodies(right: Any, count: int, seed: int) -> list[bytes]:
    """`count` different bodies; the same for the same arguments."""
    chosen = random.Random(seed)
    text = json.dumps(right).encode()
    replaced = [with_raw.encode("utf-8", "surrogatepass") for with_raw in _replaced(right)]
    made = dict.fromkeys((*_WHOLE, *chosen.sample(replaced, min(len(replaced), count * 2 // 3))))
    while len(made) < count:
        made[_damaged(text, chosen)] = None
    return list(made)[:count]


def _replaced(right: Any) -> Iterator[str]:
    for path in _paths(right):
        text = json.dumps(_with(right, path, _MARK))
        for raw in RAW:
            yield text.replace(json.dumps(_MARK), raw)


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from _paths(below, (*path, key))


def _with(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = _with(value[path[0]], path[1:], new)
    return copied


def _damaged(text: bytes, chosen: random.Random) -> bytes:
    """The right body with some bytes cut off, changed, doubled or left out."""
    start = chosen.randrange(len(text))
    end = min(len(text), start + chosen.randrange(1, 9))
    noise = bytes(chosen.randrange(256) for _ in range(end - start))
    return chosen.choice(
        (
            text[:start],
            text[start:],
            text[:start] + noise + text[end:],
            text[:end] + text[start:],
            text[:start] + text[end:],
        )
    )
