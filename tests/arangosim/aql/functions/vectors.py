"""Exact vector functions, and the approximate ones that only the vector index can answer."""

from typing import Any

import numpy as np

from tests.arangosim.aql.functions.registry import aql
from tests.arangosim.errors import (
    QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH,
    QUERY_VECTOR_SEARCH_NOT_APPLIED,
    ArangoError,
)
from tests.arangosim.values import is_number


def _pair(function: str, left: Any, right: Any) -> tuple[Any, Any] | None:
    """Two float64 arrays of equal length; None when an argument is no array of numbers. Raises ArangoError 1542."""
    for value in (left, right):
        if not isinstance(value, list) or not all(map(is_number, value)):
            return None
    if len(left) != len(right):
        raise ArangoError(
            QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH, f"'{function}()': lengths {len(left)} and {len(right)} differ"
        )
    return np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)


@aql("COSINE_SIMILARITY", 2)
def cosine_similarity(left: Any, right: Any) -> Any:
    pair = _pair("COSINE_SIMILARITY", left, right)
    if pair is None:
        return None
    norms = float(np.linalg.norm(pair[0]) * np.linalg.norm(pair[1]))
    return float(pair[0] @ pair[1]) / norms if norms > 0 else None


@aql("L2_DISTANCE", 2)
def l2_distance(left: Any, right: Any) -> Any:
    pair = _pair("L2_DISTANCE", left, right)
    return None if pair is None else float(np.linalg.norm(pair[0] - pair[1]))


@aql("L1_DISTANCE", 2)
def l1_distance(left: Any, right: Any) -> Any:
    pair = _pair("L1_DISTANCE", left, right)
    return None if pair is None else float(np.abs(pair[0] - pair[1]).sum())


def _approximate(name: str) -> None:
    @aql(name, 2, 3)
    def refused(*_arguments: Any) -> Any:
        raise ArangoError(QUERY_VECTOR_SEARCH_NOT_APPLIED, f"{name} is used outside what a vector index can answer")


for _name in ("APPROX_NEAR_COSINE", "APPROX_NEAR_L2", "APPROX_NEAR_INNER_PRODUCT"):
    _approximate(_name)
