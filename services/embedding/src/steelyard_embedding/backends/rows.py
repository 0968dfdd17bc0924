"""Vectors out of a server's reply: one for each text, all of one dimension, each a direction."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard_runtime.model_server import ServerFault

from .port import Vectors
from .served import failure


def rows_by_index(data: Any, count: int) -> list[Any]:
    """The `embedding` of each text in the texts' order, from OpenAI's `data`, which may be in any order.

    Raises `upstream_bad_reply` unless each index from 0 to `count` - 1 is there once.
    """
    if not isinstance(data, list):
        raise _unusable("holds no list under `data`")
    if len(data) != count:
        raise _unusable(f"has {len(data)} rows for {count} texts")
    rows: dict[int, Any] = {}
    for row in data:
        index = row.get("index") if isinstance(row, Mapping) else None
        # A bool is an int to Python, and 1.0 equals 1; neither is an index.
        if type(index) is not int or not 0 <= index < count:
            raise _unusable(f"has a row whose index is no whole number from 0 to {count - 1}")
        if index in rows:
            raise _unusable(f"has two rows with the index {index}")
        rows[index] = row.get("embedding")
    return [rows[index] for index in range(count)]


def unit_vectors(rows: Any, count: int) -> Vectors:
    """Unit vectors, float32 [count, dimension], of `count` JSON lists of numbers in the texts' order.

    Raises `upstream_bad_reply` for another count, lists of unequal lengths, what is no number (a truth value is none),
    and vectors without a direction. Blocking: it looks at every number.
    """
    if not isinstance(rows, list) or len(rows) != count:
        what = f"{len(rows)} vectors" if isinstance(rows, list) else "no list of vectors"
        raise _unusable(f"has {what} for {count} texts")
    length = len(rows[0]) if rows and isinstance(rows[0], list) else 0
    for place, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != length or length == 0:
            raise _unusable(f"has a vector for text {place} that is no list of {length or 'some'} numbers")
        if not all(type(value) in (float, int) for value in row):
            raise _unusable(f"has something in the vector of text {place} that is no number")
    values = np.array(rows, dtype=np.float64)
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(values, axis=1, keepdims=True)
    usable = np.isfinite(norms[:, 0]) & (norms[:, 0] > 0)
    if not usable.all():
        raise _unusable(f"has a vector for text {int(np.flatnonzero(~usable)[0])} that is zero or not finite")
    return np.asarray(values / norms, dtype=np.float32)


def _unusable(what: str) -> Exception:
    return failure(ServerFault.BAD_REPLY, f"the model server's reply {what}")
