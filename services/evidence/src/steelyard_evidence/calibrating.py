"""Calibration: settings of `adaptive` that reach a recall with the fewest tokens, and what the data proves."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from steelyard_reranker.selection import SelectionSettings

from .errors import RunError
from .manifest import FrozenCandidate, FrozenQuery, Manifest, Unit
from .measures.bootstrap import difference
from .policy import Policy
from .run.reading import Reader
from .run.runner import check_reranker
from .tell import Tell
from .tuning.case import Case, make_case
from .tuning.gold import Gold
from .tuning.grid import adaptive_outcomes, grid
from .tuning.outcome import Outcomes, Point
from .tuning.slices import slice_outcomes

LEAST = 10
"""Queries to choose on below which there is no proposal."""

FEW = 30
"""Queries to choose on below which a proposal is hardly more than a guess."""

_TIED = 1e-6
"""Scores that differ by less than this tell no candidate from another."""


@dataclass(frozen=True)
class Proposal:
    """What calibration found.

    `settings` is None when no setting reaches the recall, or the data does not support a choice; `warnings` then say
    why, and else what is not shown. Points are on the queries that nothing was chosen on:
    `proposed`, the policy as it is (`current`), and the shortest `slice` that reached the recall where it was chosen.
    """

    wanted: float
    chosen_on: int
    tested_on: int
    ceiling: float
    settings: SelectionSettings | None
    proposed: Point | None
    current: Point
    slice: Point | None
    warnings: tuple[str, ...]

    def environment(self) -> dict[str, float]:
        """The proposal as settings of the environment; empty without one."""
        if self.settings is None:
            return {}
        return {
            "MIN_VALUE_THRESHOLD": self.settings.min_value_threshold,
            "CONFUSION_COST_WEIGHT": self.settings.confusion_cost_weight,
            "TOKEN_COST_ALPHA": self.settings.token_cost_alpha,
            "NOVELTY_SIGMOID_B": self.settings.novelty_sigmoid_b,
        }

    def as_json(self) -> dict[str, Any]:
        """Everything by name."""
        points = {"proposed": self.proposed, "current": self.current, "slice": self.slice}
        return {
            "wanted": self.wanted,
            "chosen_on": self.chosen_on,
            "tested_on": self.tested_on,
            "ceiling": self.ceiling,
            "settings": self.environment() or None,
            **{name: None if point is None else _point(point) for name, point in points.items()},
            "warnings": list(self.warnings),
        }


def calibrate(
    manifest: Manifest, reader: Reader, policy: Policy, wanted: float, tell: Tell, *, workers: int = 1
) -> Proposal:
    """Choose on every other query, test on the rest.

    Raises RunError when the manifest was frozen for another reranker, has fewer than two queries with evidence, or no
    vectors, and when the policy leaves no candidate of any query.
    """
    check_reranker(manifest, reader.identity)
    queries = [query for query in manifest.queries if query.units]
    if len(queries) < 2:
        raise RunError(f"manifest {manifest.name!r} has {len(queries)} queries with evidence; two are the least")
    cases = []
    for number, query in enumerate(queries):
        cases.append(_case(number, query, manifest, reader, policy))
        tell("reading pairs", number + 1, len(queries))
    if not any(len(case) for case in cases):
        raise RunError("no query has a candidate that is above the cosine floors and can be read")
    settings = grid(policy.selection)
    outcomes = adaptive_outcomes(
        cases, settings, workers=workers, on_cases=lambda done, of: tell("looking through settings", done, of)
    )
    return _proposal(cases, outcomes, settings, wanted)


def _proposal(
    cases: Sequence[Case], outcomes: Outcomes, settings: Sequence[SelectionSettings], wanted: float
) -> Proposal:
    even, odd, slices = outcomes.even, outcomes.odd, slice_outcomes(cases)
    ceiling = float(slices.even.recall[-1].mean())
    row, shortest = even.cheapest(wanted), slices.even.cheapest(wanted)
    against = _against(cases, even, odd, row, ceiling, wanted)
    if against:
        row = None
    return Proposal(
        wanted=wanted,
        chosen_on=even.recall.shape[1],
        tested_on=odd.recall.shape[1],
        ceiling=ceiling,
        settings=None if row is None else settings[row],
        proposed=None if row is None else odd.point(row),
        current=odd.point(0),
        slice=None if shortest is None else slices.odd.point(shortest),
        warnings=tuple(against if row is None else _doubts(even, odd, slices, row, shortest, wanted)),
    )


def _against(
    cases: Sequence[Case], even: Outcomes, odd: Outcomes, row: int | None, ceiling: float, wanted: float
) -> list[str]:
    """What forbids a proposal: it would be a guess, or the queries that it was not chosen on contradict it."""
    said = []
    if even.recall.shape[1] < LEAST:
        said.append(
            f"there are {even.recall.shape[1]} queries to choose on; from fewer than {LEAST} a choice among"
            f" {len(even.names)} settings is a guess"
        )
    level = sum(len(case) > 1 and float(np.ptp(case.scores)) < _TIED for case in cases)
    if 2 * level > len(cases):
        said.append(f"the reranker scores all candidates alike in {level} of {len(cases)} queries")
    if ceiling < wanted:
        said.append(f"the candidates hold {ceiling:.3f} of the evidence; retrieval, not selection, misses {wanted:g}")
    elif row is None:
        best = float(even.recall.mean(axis=1).max())
        said.append(f"no setting of the grid reaches {wanted:g}; the best one has {best:.3f}")
    elif (point := odd.point(row)).recall.high < wanted:
        said.append(
            f"on the queries that it was not chosen on, the choice has recall {point.recall.mean:.3f}"
            f" [{point.recall.low:.3f}, {point.recall.high:.3f}]: it does not reach {wanted:g}"
        )
    return said


def _doubts(
    even: Outcomes, odd: Outcomes, slices: Outcomes, row: int, shortest: int | None, wanted: float
) -> list[str]:
    """What a proposal has not been shown to do."""
    said = []
    if even.recall.shape[1] < FEW:
        said.append(f"the settings were chosen on {even.recall.shape[1]} queries; below {FEW} that is hardly a choice")
    point = odd.point(row)
    if point.recall.low < wanted:
        said.append(
            f"on the queries that it was not chosen on, recall is {point.recall.mean:.3f} with a 95 % interval from"
            f" {point.recall.low:.3f}: the data does not prove {wanted:g}"
        )
    if row != 0 and float(even.recall[0].mean()) >= wanted:
        more = difference(odd.tokens[row], odd.tokens[0])
        if more.high >= 0.0:
            said.append(
                "the settings as they are reached it too, and are not shown to need more tokens (proposed less current:"
                f" {more.mean:+.0f} [{more.low:+.0f}, {more.high:+.0f}])"
            )
    if shortest is not None:
        more = difference(odd.tokens[row], slices.odd.tokens[shortest])
        if more.high >= 0.0:
            said.append(
                f"a slice of the {slices.names[shortest]} is not shown to need more tokens (adaptive less slice:"
                f" {more.mean:+.0f} [{more.low:+.0f}, {more.high:+.0f}])"
            )
    return said


def _case(number: int, query: FrozenQuery, manifest: Manifest, reader: Reader, policy: Policy) -> Case:
    looked_at = policy.looked_at(query.candidates)
    readings = reader.read(query.query, looked_at, policy.effective_pairs(manifest.pair_limit)).readings
    read = [
        (candidate, reading.score)
        for candidate, reading in zip(looked_at, readings, strict=True)
        if reading.score is not None
    ]
    candidates = [candidate for candidate, _ in read]
    if query.embedding is None or any(one.embedding is None for one in candidates):
        raise RunError(f"query {query.query_id!r}: the manifest has no vectors, which adaptive needs")
    return make_case(
        number,
        [one.text for one in candidates],
        np.array([score for _, score in read], dtype=np.float64),
        np.array([one.tokens for one in candidates], dtype=np.int64),
        np.array([one.embedding.to_floats() for one in candidates if one.embedding is not None], dtype=np.float32),
        np.array(query.embedding.to_floats(), dtype=np.float32),
        gold_of(query.units, candidates),
    )


def gold_of(units: Sequence[Unit], candidates: Sequence[FrozenCandidate]) -> Gold:
    """The units in elementary pieces, every unit with the same weight."""
    columns: list[list[bool]] = []
    weights: list[float] = []
    for unit in units:
        cuts = sorted({0, unit.length, *(cut for place in unit.places for cut in (place.unit_start, place.unit_end))})
        for start, end in pairwise(cuts):
            holding = {one.candidate_id for one in unit.places if one.unit_start <= start and end <= one.unit_end}
            columns.append([candidate.id in holding for candidate in candidates])
            weights.append((end - start) / unit.length / len(units))
    covers = np.array(columns, dtype=np.bool_).T.reshape(len(candidates), len(columns))
    return Gold(covers, np.array(weights, dtype=np.float64))


def _point(point: Point) -> dict[str, Any]:
    return {"name": point.name, "recall": point.recall.as_json(), "tokens": point.tokens.as_json()}
