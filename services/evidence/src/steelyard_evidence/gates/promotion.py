"""Gate 4: promotion only against the thresholds of a file, and never on the strength of an upper bound."""

from ..run.plan import Axis, Route
from ..run.result import Run
from .thresholds import PromotionGate
from .verdict import Verdict

GATE = 4


def promotable(gate: PromotionGate, run: Run) -> list[Verdict]:
    """Verdicts about the proposed route as a whole."""
    part = run.part(Axis.ROUTE, Route.PROPOSED)
    if part is None or not part.promotable:
        return [Verdict(GATE, "the proposed route is promotable", False, "it is an upper bound, or not there")]
    pooled = part.pooled
    p95 = None if pooled.latency is None else pooled.latency.p95
    return [
        _at_least("queries", pooled.queries, gate.min_queries),
        _at_least("evidence sent", pooled.recall.mean, gate.min_recall),
        _at_least("evidence in pairs", pooled.pair_survival.mean, gate.min_pair_survival),
        _at_least("nDCG", pooled.ndcg.mean, gate.min_ndcg),
        _at_most("context tokens", pooled.context_tokens.mean, gate.max_context_tokens),
        _at_most("95th percentile of latency, seconds", p95, gate.max_p95_seconds),
    ]


def _at_least(name: str, found: float, wanted: float) -> Verdict:
    return Verdict(GATE, name, found >= wanted, f"{found:.4g}; at least {wanted:g}")


def _at_most(name: str, found: float | None, wanted: float) -> Verdict:
    if found is None:
        return Verdict(GATE, name, False, "was not measured")
    return Verdict(GATE, name, found <= wanted, f"{found:.4g}; at most {wanted:g}")
