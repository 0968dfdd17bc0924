"""Exact vector functions, and the approximate ones that only the vector index can answer."""

from typing import Any

import numpy as np

from tests.arangosim.aql.functions.registry import aql
from tests.arangosim.errors import (
    QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH,
    QUERY_VECTOR_SEARCH_NOT_APPLIED,
    ArangoError,
)
from tests.arangosim.vector_index import number_array


def _pair(function: str, left: Any, right: Any) -> tuple[Any, Any] | None:
    """Two float64 arrays of equal length; None when an argument is no array of numbers. Raises ArangoError 1542."""
    first, second = number_array(left), number_array(right)
    if first is None or second is None:
        return None
    if first.shape != second.shape:
        raise ArangoError(
            QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH, f"'{function}()': lengths {len(first)} and {len(second)} differ"
        )
    return first.astype(np.float64), second.astype(np.float64)


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
