"""Gate 3: three routes at one budget, for all queries and for every protected segment by itself."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..measures.bootstrap import difference
from ..measures.survival import Boundary
from ..run.plan import Axis, Route
from ..run.record import Record
from ..run.result import Latency, PartResult, Run
from .thresholds import SegmentGate
from .verdict import Verdict

GATE = 3
ALL = "all queries"
_LATENCY_NOISE_S = 0.05
"""A tail that is longer by less than this is as likely the machine's doing as the policy's."""


def compare(gate: SegmentGate, run: Run) -> list[Verdict]:
    """Verdicts about evidence, ranking and tail latency of the proposed route beside the two others."""
    routes = {route: run.part(Axis.ROUTE, route) for route in Route}
    missing = [route for route, part in routes.items() if part is None]
    if missing:
        return [Verdict(GATE, "the run has all three routes", False, f"{', '.join(missing)} missing")]
    retrieved, current, proposed = (part for part in routes.values() if part is not None)
    absent = [name for name in gate.protected if name not in proposed.segments]
    verdicts = [
        Verdict(
            GATE,
            "every protected segment has queries",
            not absent,
            f"{', '.join(absent)} has none" if absent else f"{len(gate.protected)} segments",
        )
    ]
    for segment in [ALL, *(name for name in gate.protected if name in proposed.segments)]:
        verdicts += _segment(gate, segment, retrieved, current, proposed)
    return verdicts


def _segment(
    gate: SegmentGate, segment: str, retrieved: PartResult, current: PartResult, proposed: PartResult
) -> Iterator[Verdict]:
    ours, now, plain = (_records(part, segment) for part in (proposed, current, retrieved))
    measures: list[tuple[str, float, Callable[[Record], float]]] = [
        ("evidence sent", gate.max_recall_loss, lambda record: record.survival(Boundary.CONTEXT)),
        ("evidence in pairs", gate.max_pair_survival_loss, lambda record: record.survival(Boundary.PAIR)),
        ("nDCG", gate.max_ndcg_loss, lambda record: record.ndcg),
    ]
    for name, allowed, value in measures:
        yield _loss(f"{segment}: {name} against the current route", allowed, ours, now, value)
    yield _loss(
        f"{segment}: evidence sent against retrieved order",
        gate.max_recall_loss,
        ours,
        plain,
        lambda record: record.survival(Boundary.CONTEXT),
    )
    yield _tail(gate, segment, current, proposed)


def _loss(
    check: str, allowed: float, ours: Sequence[Record], theirs: Sequence[Record], value: Callable[[Record], float]
) -> Verdict:
    columns = [np.array([value(record) for record in records]) for records in (ours, theirs)]
    found = difference(*columns)
    passed = found.mean >= -allowed - 1e-9 and found.high >= 0.0
    said = f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}] over {found.n} queries; at most {allowed:g} less"
    return Verdict(GATE, check, passed, said)


def _tail(gate: SegmentGate, segment: str, current: PartResult, proposed: PartResult) -> Verdict:
    check = f"{segment}: 95th percentile of latency"
    ours, now = _latency(proposed, segment), _latency(current, segment)
    if ours is None or now is None:
        return Verdict(GATE, check, False, "was not measured")
    passed = ours.p95 <= now.p95 * gate.max_p95_ratio + _LATENCY_NOISE_S
    return Verdict(
        GATE, check, passed, f"{ours.p95:.3f} s against {now.p95:.3f} s; at most {gate.max_p95_ratio:g} times"
    )


def _latency(part: PartResult, segment: str) -> Latency | None:
    return (part.pooled if segment == ALL else part.segments[segment]).latency


def _records(part: PartResult, segment: str) -> list[Record]:
    return [record for record in part.records if segment in (ALL, record.segment)]
