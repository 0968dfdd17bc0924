"""nDCG over evidence units: a candidate counts for what no better ranked one has shown."""

import math
from collections.abc import Mapping, Sequence

Grades = Mapping[str, int]
"""The units that a candidate holds any of, with their grades."""


def ndcg(ranking: Sequence[Grades], findable: Sequence[Grades], cutoff: int) -> float:
    """Normalised discounted cumulative gain, in [0, 1], of candidates in rank order; 1 when there is nothing to find.

    `findable` is what the ideal ranking is made of: all that there is to find, not only what was ranked, so that
    looking at fewer candidates makes no ranking better.

    The gain of a candidate is the greatest grade among its units that none before it holds, the discount
    `1 / log2(rank + 1)` (Järvelin and Kekäläinen, 2002, in the form of trec_eval). The ideal takes the greatest gain at
    each rank and, of equals, the candidate with the fewest units, so that copies never raise it.
    """
    ideal = _gain(_ideal(findable, cutoff), cutoff)
    # The ideal is greedy; where units overlap oddly a ranking can be a little better.
    return 1.0 if ideal == 0.0 else min(1.0, _gain(ranking, cutoff) / ideal)


def _gain(ranking: Sequence[Grades], cutoff: int) -> float:
    shown: set[str] = set()
    total = 0.0
    for rank, grades in enumerate(ranking[:cutoff], 1):
        total += _new(grades, shown) / math.log2(rank + 1)
        shown |= grades.keys()
    return total


def _ideal(findable: Sequence[Grades], cutoff: int) -> list[Grades]:
    left = [grades for grades in findable if grades]
    shown: set[str] = set()
    ideal: list[Grades] = []
    while left and len(ideal) < cutoff:
        best = max(range(len(left)), key=lambda i: (_new(left[i], shown), -len(left[i].keys() - shown), -i))
        if _new(left[best], shown) == 0:
            break
        ideal.append(left.pop(best))
        shown |= ideal[-1].keys()
    return ideal


def _new(grades: Grades, shown: set[str]) -> int:
    return max((grade for unit, grade in grades.items() if unit not in shown), default=0)
