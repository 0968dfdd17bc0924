"""Methods compared on one data set under one condition: settings chosen on even questions, reported on odd ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..measures.bootstrap import Interval, difference, interval
from ..tuning.outcome import Outcomes, Point

ADAPTIVE = "calibrated adaptive"
DEFAULT = "published adaptive"
BASELINE = "slice"


@dataclass(frozen=True, slots=True)
class Row:
    """One method at one wanted recall, on odd questions.

    `tokens_ratio` is its mean tokens over those of `slice` at the same wanted recall; `tokens_less` and `recall_less`
    are paired differences from `slice` (negative is less). All three are None for `slice` itself and where `slice` does
    not reach the recall.
    """

    method: str
    wanted: float
    point: Point
    tokens_ratio: float | None
    tokens_less: Interval | None
    recall_less: Interval | None


@dataclass(frozen=True)
class Cell:
    """One data set under one condition. `even` and `odd` are outcomes by method; `ceiling` is that of odd questions."""

    collection: str
    condition: str
    ceiling: Interval
    even: Mapping[str, Outcomes]
    odd: Mapping[str, Outcomes]

    @property
    def even_ceiling(self) -> float:
        """The recall of keeping every candidate, on the questions that settings are chosen on."""
        return float(self.even[BASELINE].recall[-1].mean())

    def curve(self, method: str) -> list[Point]:
        """The settings that are best on even questions, in the order of tokens, as they do on odd questions."""
        chosen = [self.even[method].names[row] for row in self.even[method].frontier()]
        odd = self.odd[method]
        return [odd.point(odd.names.index(name)) for name in chosen]


def at_recall(cell: Cell, wanted: float, chosen: Mapping[str, str | None]) -> list[Row]:
    """What each method does on odd questions under the setting that was chosen for it; None leaves it out."""
    baseline = chosen.get(BASELINE)
    rows = []
    for method, name in chosen.items():
        if name is None:
            continue
        odd = cell.odd[method]
        row = odd.names.index(name)
        ratio, tokens_less, recall_less = None, None, None
        if baseline is not None and method != BASELINE:
            theirs = cell.odd[BASELINE]
            column = theirs.names.index(baseline)
            ratio = float(odd.tokens[row].mean() / theirs.tokens[column].mean())
            tokens_less = difference(odd.tokens[row], theirs.tokens[column])
            recall_less = difference(odd.recall[row], theirs.recall[column])
        rows.append(Row(method, wanted, odd.point(row), ratio, tokens_less, recall_less))
    return rows


def chosen_for(outcomes: Mapping[str, Outcomes], wanted: float) -> dict[str, str | None]:
    """For each method the name of the setting that reaches `wanted` with the fewest tokens; None when none does."""
    found = {method: one.cheapest(wanted) for method, one in outcomes.items()}
    return {method: None if row is None else outcomes[method].names[row] for method, row in found.items()}


def ceiling_of(outcomes: Outcomes) -> Interval:
    """The recall of `slice` with every candidate."""
    return interval(outcomes.recall[-1])


def winners(rows: Sequence[Row]) -> list[Row]:
    """The row with the fewest tokens among those whose recall is not clearly below that of `slice`, first; then others.

    Clearly below means that the whole 95 % interval of the paired difference is.
    """
    fair = [row for row in rows if row.recall_less is None or row.recall_less.high >= 0.0]
    return sorted(fair, key=lambda row: row.point.tokens.mean)
