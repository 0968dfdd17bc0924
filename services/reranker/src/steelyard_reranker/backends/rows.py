"""The check of a reply's rows: one for each text, each index once, each score a number."""

from collections.abc import Mapping, Sequence
from typing import Any

from .port import RerankBackendError
from .reasons import BackendReason
from .scale import Scale


def scores_of(rows: Any, count: int, score_key: str, scale: Scale) -> list[float]:
    """Return the rerank scores of `count` texts in the texts' order, from rows in any order.

    A row is an object with a whole `index` and a number under `score_key`; other keys are ignored. Raises
    RerankBackendError, named after the first thing that is wrong. That scores are finite and in scale is for
    `port.checked` to see, since it holds for every backend.
    """
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        raise RerankBackendError(BackendReason.BAD_REPLY, "the reply holds no list of rows")
    if len(rows) != count:
        raise RerankBackendError(BackendReason.WRONG_COUNT, f"the reply has {len(rows)} rows for {count} texts")
    scores: dict[int, float] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            raise RerankBackendError(BackendReason.BAD_REPLY, "a row of the reply is no object")
        index, score = row.get("index"), row.get(score_key)
        # A bool is an int to Python, and 1.0 equals 1; neither is an index.
        if type(index) is not int or not 0 <= index < count:
            raise RerankBackendError(
                BackendReason.BAD_INDEX, f"a row's index is {_shown(index)}, not a whole number from 0 to {count - 1}"
            )
        if index in scores:
            raise RerankBackendError(BackendReason.DUPLICATE_INDEX, f"two rows have the index {index}")
        if isinstance(score, bool) or not isinstance(score, float | int):
            raise RerankBackendError(
                BackendReason.NOT_A_NUMBER, f"the {score_key!r} of row {index} is of type {type(score).__name__}"
            )
        scores[index] = scale.rerank_score(float(score))
    return [scores[index] for index in range(count)]


def _shown(value: Any) -> str:
    """A number as it is; of anything else only the type, because it could be text of a document."""
    return repr(value) if type(value) in (int, float, bool) else f"of type {type(value).__name__}"
