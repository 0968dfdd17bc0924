"""Gate 1: the fixtures under the proposed bounds of pairs, by the reranker's own planning."""

from collections.abc import Sequence

from steelyard_contracts.enums import WindowAggregation
from steelyard_reranker.pairs import (
    PairFormat,
    PairPlanner,
    PairSettingError,
    PairSettings,
    Passage,
    Plan,
    QueryTooLongError,
)
from steelyard_reranker.row_fault import RowFault

from .fixtures import BOUNDARY_PROBE, FIXTURES, WINDOW_BOUNDARY, Fixture, across
from .verdict import Verdict

GATE = 1


def replay(required: Sequence[str], pair_format: PairFormat, pairs: PairSettings) -> list[Verdict]:
    """One verdict per required fixture."""
    try:
        planner = PairPlanner(pair_format, pairs)
    except PairSettingError as error:
        return [Verdict(GATE, "the model can serve the proposed pairs", False, str(error))]
    return [Verdict(GATE, f"fixture {name}", *_survives(planner, name, pairs)) for name in required]


def _survives(planner: PairPlanner, name: str, pairs: PairSettings) -> tuple[bool, str]:
    try:
        fixture = _across_the_first_boundary(planner) if name == WINDOW_BOUNDARY else FIXTURES[name]
        plan = _plan(planner, fixture)
    except QueryTooLongError as error:
        return False, error.detail
    if isinstance(plan, RowFault):
        return False, f"{plan.reason}: {plan.detail}"
    pieces = plan.pieces
    if pairs.aggregation is WindowAggregation.CAPPED:
        pieces = pieces[: pairs.max_windows]
    spans = [(piece.start, piece.end) for piece in pieces]
    shares = [_share(fixture.evidence, span) for span in spans]
    kept = max(shares) if fixture.in_one_window else _union(fixture.evidence, spans)
    where = "in one window" if fixture.in_one_window else "in what is read"
    return kept >= 1.0, f"{kept:.0%} of the evidence is {where}, of {len(pieces)}"


def _across_the_first_boundary(planner: PairPlanner) -> Fixture:
    """The fixture for where the first window, or all that is read, ends under these settings."""
    plan = _plan(planner, BOUNDARY_PROBE)
    return across(0 if isinstance(plan, RowFault) else plan.pieces[0].end)


def _plan(planner: PairPlanner, fixture: Fixture) -> Plan | RowFault:
    (plan,) = planner.plans(fixture.query, [Passage("fixture", fixture.text)])
    return plan


def _share(evidence: tuple[int, int], span: tuple[int, int]) -> float:
    shared = min(evidence[1], span[1]) - max(evidence[0], span[0])
    return max(0, shared) / (evidence[1] - evidence[0])


def _union(evidence: tuple[int, int], spans: Sequence[tuple[int, int]]) -> float:
    """Spans come in text order."""
    covered, reached = 0, evidence[0]
    for start, end in spans:
        low, high = max(start, reached), min(end, evidence[1])
        covered += max(0, high - low)
        reached = max(reached, high)
    return covered / (evidence[1] - evidence[0])
