"""`gates.toml`: every threshold that a promotion is held against. Nothing has a default that could be forgotten."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from steelyard_contracts.base import NonNegativeNumber, PositiveInt, Probability, Request
from steelyard_contracts.enums import PairPolicy

from ..errors import GatesError
from .fixtures import NAMES


class FixtureGate(Request):
    """Gate 1: the fixtures whose evidence must be whole in what the reranker reads."""

    required: Annotated[list[str], Field(min_length=1)]


class IdentityGate(Request):
    """Gate 2: the truncation policies that a release may have, and the shortest pair."""

    allowed_policies: Annotated[list[PairPolicy], Field(min_length=1)]
    min_pair_limit: PositiveInt


class SegmentGate(Request):
    """Gate 3, for every protected segment and for all queries together: how much the proposed route may lose.

    A loss is a mean over queries, proposed less current; one whose whole 95 % interval is below zero fails as well.
    """

    protected: list[str]
    max_recall_loss: Probability
    max_pair_survival_loss: Probability
    max_ndcg_loss: Probability
    max_p95_ratio: NonNegativeNumber


class PromotionGate(Request):
    """Gate 4: what the proposed route must reach over all queries."""

    min_queries: PositiveInt
    min_recall: Probability
    min_pair_survival: Probability
    min_ndcg: Probability
    max_context_tokens: NonNegativeNumber
    max_p95_seconds: NonNegativeNumber


class Gates(Request):
    """The file."""

    fixtures: FixtureGate
    identity: IdentityGate
    segments: SegmentGate
    promotion: PromotionGate


def read_gates(path: Path) -> Gates:
    """Read a gates file; raises GatesError naming every key that is wrong."""
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GatesError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GatesError(f"{path}: is no TOML: {error}") from error
    try:
        gates = Gates.model_validate(data)
    except ValidationError as error:
        faults = error.errors(include_input=False, include_url=False)
        said = "; ".join(f"{'.'.join(map(str, one['loc']))}: {_said(one['type'], one['msg'])}" for one in faults)
        raise GatesError(f"{path}: {said}") from error
    unknown = [name for name in gates.fixtures.required if name not in NAMES]
    if unknown:
        raise GatesError(f"{path}: fixtures.required: {unknown[0]!r} is none of {', '.join(NAMES)}")
    return gates


def _said(kind: str, message: str) -> str:
    return {"extra_forbidden": "is no key of this file", "missing": "is missing"}.get(kind, message)
