"""What selection decided, candidate by candidate."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from steelyard_contracts.enums import Fate, Reason, Strategy


class ValueTerms(NamedTuple):
    """Every number of the utility-cost formula for one candidate, at the turn at which it was decided; all are finite.

    `utility = relevance * novelty_weight`, `cost = token_cost + confusion_cost_weight * confusion_cost` and
    `value = utility - cost`.
    """

    relevance: float
    novelty: float
    novelty_weight: float
    utility: float
    token_count: int
    token_cost: float
    confusion_cost: float
    cost: float
    value: float


class Decision(NamedTuple):
    """The fate of one candidate.

    `rank` counts the kept ones from 1 and is `None` for a dropped one. `value` is `None` unless `adaptive` weighed it.
    """

    chunk_id: str
    fate: Fate
    reason: Reason
    rank: int | None
    value: ValueTerms | None


@dataclass(frozen=True, slots=True)
class Selection:
    """One decision per candidate, in canonical order: `len(decisions) == len(kept) + number dropped`, always."""

    strategy: Strategy
    decisions: tuple[Decision, ...]

    @property
    def kept(self) -> tuple[str, ...]:
        """Ids of the kept candidates in rank order."""
        return tuple(decision.chunk_id for decision in self.decisions if decision.fate is Fate.SENT)

    @property
    def outcome(self) -> Literal["ok", "empty"]:
        """`empty` when nothing is kept; `degraded` is not for selection to say."""
        return "ok" if any(decision.fate is Fate.SENT for decision in self.decisions) else "empty"


_KEPT = (Reason.SELECTED, Reason.KEPT_FLOOR)


def decide(
    chunk_ids: Iterable[str], reasons: Iterable[Reason], terms: Iterable[ValueTerms | None]
) -> tuple[Decision, ...]:
    """Turn aligned columns in canonical order into decisions: the reason gives the fate, the order gives the rank."""
    decisions: list[Decision] = []
    rank = 0
    for chunk_id, reason, value in zip(chunk_ids, reasons, terms, strict=True):
        if reason in _KEPT:
            rank += 1
            decisions.append(Decision(chunk_id, Fate.SENT, reason, rank, value))
        else:
            decisions.append(Decision(chunk_id, Fate.DROPPED, reason, None, value))
    return tuple(decisions)
