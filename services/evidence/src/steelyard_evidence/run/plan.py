"""What a run does: routes, sweeps of one axis at a time, a joint grid that keeps both axes, windows, an upper bound."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Any

from steelyard_contracts.enums import PairPolicy, WindowAggregation

from ..policy import Policy


class Axis(StrEnum):
    """Which question a part of a run answers."""

    ROUTE = "route"
    PAIR_LENGTH = "pair_length"
    CANDIDATES = "candidates"
    GRID = "grid"
    WINDOWS = "windows"
    ORACLE = "oracle"


class Route(StrEnum):
    """The three routes that are compared at the same context budget."""

    RETRIEVED = "retrieved"
    """Retrieved order, without reranking."""

    CURRENT = "current"
    PROPOSED = "proposed"


@dataclass(frozen=True, slots=True)
class Part:
    """One policy applied to every query. `policy` None is the retrieved order without reranking.

    `oracle` reads windows that are centred on the annotated evidence: an upper bound that nothing can be promoted by.
    """

    axis: Axis
    label: str
    policy: Policy | None
    oracle: bool = False

    @property
    def promotable(self) -> bool:
        """Whether a release may rest on it."""
        return not self.oracle

    @property
    def key(self) -> str:
        """The part's name within its run."""
        return f"{self.axis}:{self.label}"

    def as_json(self) -> dict[str, Any]:
        """Axis, label, policy and whether it is promotable."""
        return {
            "axis": str(self.axis),
            "label": self.label,
            "policy": None if self.policy is None else self.policy.as_json(),
            "promotable": self.promotable,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """Two policies, and the values that sweeps give to their pair limit and number of candidates.

    A sweep varies the current policy. `grid` crosses both sweeps.
    """

    current: Policy
    proposed: Policy
    limits: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    grid: bool = False
    windows: bool = False
    oracle: bool = False

    def parts(self) -> Iterator[Part]:
        """Every part: routes, then pair lengths with all candidates, then candidate counts, then what was asked for."""
        yield Part(Axis.ROUTE, Route.RETRIEVED, None)
        yield Part(Axis.ROUTE, Route.CURRENT, self.current)
        yield Part(Axis.ROUTE, Route.PROPOSED, self.proposed)
        for limit in self.limits:
            yield Part(Axis.PAIR_LENGTH, str(limit), self.current.with_pairs(budget=limit).with_candidates(None))
        for count in self.counts:
            yield Part(Axis.CANDIDATES, str(count), self.current.with_candidates(count))
        if self.grid:
            for limit, count in product(self.limits, self.counts):
                yield Part(Axis.GRID, f"{limit}x{count}", self.current.with_pairs(budget=limit).with_candidates(count))
        if self.windows:
            for aggregation in WindowAggregation:
                windowed = self.current.with_pairs(long_document=PairPolicy.WINDOWS, aggregation=aggregation)
                yield Part(Axis.WINDOWS, str(aggregation), windowed)
        if self.oracle:
            yield Part(Axis.ORACLE, "upper bound", self.current, oracle=True)

    def as_json(self) -> dict[str, Any]:
        """The plan by name."""
        return {
            "current": self.current.as_json(),
            "proposed": self.proposed.as_json(),
            "limits": list(self.limits),
            "counts": list(self.counts),
            "grid": self.grid,
            "windows": self.windows,
            "oracle": self.oracle,
        }

    def sha256(self) -> str:
        """The plan's hash, by which an unfinished run knows it again."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()
