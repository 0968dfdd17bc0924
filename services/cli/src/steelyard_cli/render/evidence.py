"""Tables of the laboratory."""

from rich.console import Console, RenderableType
from rich.table import Table

from steelyard_evidence.gates.verdict import Verdict
from steelyard_evidence.measures.survival import Boundary
from steelyard_evidence.run.result import Mean, Run

from .tables import table


def run_table(run: Run, console: Console) -> RenderableType:
    """One row for each part: what became of the evidence, ranking, tokens and latency."""
    made: Table = table(console)
    made.add_column("part", no_wrap=True)
    for heading in ("evidence sent", "candidates", "in pairs", "kept", "sent whole", "nDCG@10", "tokens", "p50", "p95"):
        made.add_column(heading, justify="right")
    for part in run.parts:
        pooled, latency = part.pooled, part.pooled.latency
        units = pooled.boundaries
        made.add_row(
            part.key,
            _interval(pooled.recall),
            *(f"{units[boundary].full}/{units[boundary].units}" for boundary in Boundary),
            f"{pooled.ndcg.mean:.3f}",
            f"{pooled.context_tokens.mean:.0f}",
            *(("", "") if latency is None else (f"{latency.p50:.2f} s", f"{latency.p95:.2f} s")),
            style="" if part.promotable else "dim",
        )
    return made


def gate_table(verdicts: list[Verdict], console: Console) -> RenderableType:
    """One row for each check of each gate."""
    made: Table = table(console)
    made.add_column("gate", justify="right")
    for heading in ("check", "verdict", "found"):
        made.add_column(heading, overflow="fold")
    for one in verdicts:
        made.add_row(
            str(one.gate), one.check, "passed" if one.passed else "FAILED", one.found, style="" if one.passed else "red"
        )
    return made


def _interval(mean: Mean) -> str:
    return f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]"
