"""The figures of a run, and the file that holds them."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from ..atomic import write_atomically
from ..errors import InputError
from ..measures.bootstrap import interval
from ..measures.survival import Boundary, Survival, survival
from .plan import Axis, Part
from .record import Record

POSITIONS = ("beginning", "middle", "end")
"""Thirds of a candidate's text, by where the evidence begins in it."""


class Mean(BaseModel):
    """A mean over `n` queries with its 95 % bootstrap interval."""

    model_config = ConfigDict(extra="forbid")

    mean: float
    low: float
    high: float
    n: int


class Count(BaseModel):
    """Units of evidence at a boundary, by what became of them; `units` is the denominator."""

    model_config = ConfigDict(extra="forbid")

    units: int
    full: int
    partial: int
    lost: int


class Latency(BaseModel):
    """Seconds per query of a warm model, one query at a time, so that nothing queues.

    `padding_waste` is the share of the model's input positions that is padding, None where a server makes the batches;
    `throughput` is texts per second.
    """

    model_config = ConfigDict(extra="forbid")

    p50: float
    p95: float
    longest: float
    throughput: float
    padding_waste: float | None


class Summary(BaseModel):
    """One policy on some of the queries. `recall` is the mean share of a query's evidence in the context."""

    model_config = ConfigDict(extra="forbid")

    queries: int
    boundaries: dict[Boundary, Count]
    positions: dict[str, dict[Boundary, Count]]
    recall: Mean
    pair_survival: Mean
    ndcg: Mean
    context_tokens: Mean
    latency: Latency | None


class PartResult(BaseModel):
    """One part of a run: what was done, over all queries and by protected segment, and each query's record."""

    model_config = ConfigDict(extra="forbid")

    axis: Axis
    label: str
    policy: dict[str, Any] | None
    promotable: bool
    pooled: Summary
    segments: dict[str, Summary]
    records: list[Record]

    @property
    def key(self) -> str:
        """The part's name within its run."""
        return f"{self.axis}:{self.label}"


class Run(BaseModel):
    """A finished run. `first_read_seconds` is the first reading of a cold model, which no latency counts."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["steelyard-run/1"] = "steelyard-run/1"
    manifest: str
    manifest_sha256: str
    context_budget: int
    plan: dict[str, Any]
    hardware: dict[str, str]
    load_seconds: float
    first_read_seconds: float | None
    parts: list[PartResult]

    def on(self, axis: Axis) -> list[PartResult]:
        """The parts that answer one question, in order."""
        return [part for part in self.parts if part.axis is axis]

    def part(self, axis: Axis, label: str) -> PartResult | None:
        """One part, None when the run does not have it."""
        return next((one for one in self.on(axis) if one.label == label), None)


def summarise(part: Part, records: Sequence[Record]) -> PartResult:
    """Sum up one part."""
    by_segment: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_segment[record.segment].append(record)
    return PartResult(
        axis=part.axis,
        label=part.label,
        policy=None if part.policy is None else part.policy.as_json(),
        promotable=part.promotable,
        pooled=_summary(records),
        segments={name: _summary(found) for name, found in sorted(by_segment.items())},
        records=list(records),
    )


def position_of(share: float) -> str:
    """The third of a text in which a share of its length lies."""
    return POSITIONS[min(int(share * len(POSITIONS)), len(POSITIONS) - 1)]


def read_run(path: Path) -> Run:
    """Read the file of a finished run; raises InputError."""
    try:
        return Run.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise InputError(f"{path}: is no finished run: {where}: {first['msg']}") from error


def write_run(run: Run, path: Path) -> None:
    """Write the file of a finished run."""
    write_atomically(path, run.model_dump_json(indent=1) + "\n")


def _summary(records: Sequence[Record]) -> Summary:
    with_evidence = [record for record in records if record.units] or records
    return Summary(
        queries=len(records),
        boundaries={boundary: _count(records, boundary, None) for boundary in Boundary},
        positions={
            position: {boundary: _count(records, boundary, position) for boundary in Boundary} for position in POSITIONS
        },
        recall=_mean(with_evidence, lambda record: record.survival(Boundary.CONTEXT)),
        pair_survival=_mean(with_evidence, lambda record: record.survival(Boundary.PAIR)),
        ndcg=_mean(with_evidence, lambda record: record.ndcg),
        context_tokens=_mean(records, lambda record: record.context_tokens),
        latency=_latency([record for record in records if record.pairs]),
    )


def _count(records: Sequence[Record], boundary: Boundary, position: str | None) -> Count:
    units = [
        unit
        for record in records
        for unit in record.units
        if position is None or (unit.position is not None and position_of(unit.position) == position)
    ]
    fates = [survival(unit.held[boundary]) for unit in units]
    return Count(
        units=len(units),
        full=fates.count(Survival.FULL),
        partial=fates.count(Survival.PARTIAL),
        lost=fates.count(Survival.LOST),
    )


def _mean(records: Sequence[Record], value: Callable[[Record], float]) -> Mean:
    return Mean(**interval(np.array([value(record) for record in records], dtype=np.float64)).as_json())


def _latency(records: Sequence[Record]) -> Latency | None:
    if not records:
        return None
    seconds = np.array([record.seconds for record in records])
    return Latency(
        p50=float(np.quantile(seconds, 0.5)),
        p95=float(np.quantile(seconds, 0.95)),
        longest=float(seconds.max()),
        throughput=sum(record.pairs for record in records) / max(float(seconds.sum()), 1e-9),
        padding_waste=_padding_waste(records),
    )


def _padding_waste(records: Sequence[Record]) -> float | None:
    known = [(one.real_tokens, one.padded_tokens) for one in records if one.padded_tokens]
    padded = sum(padded or 0 for _, padded in known)
    return 1.0 - sum(real or 0 for real, _ in known) / padded if padded else None
