"""A fact together with the places of the evidence that hold it."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from .facts import DECISIVE, WEIGHT, Fact
from .index import Hit


class Located(NamedTuple):
    """`places` are the hits of the fact by evidence sentence, `value` is what it counts."""

    fact: Fact
    places: dict[int, list[Hit]]
    value: float

    @classmethod
    def of(cls, fact: Fact, hits: Iterable[Hit], sentences: int) -> "Located":
        """Order `hits` by their sentence, of `sentences` evidence sentences.

        The value of a fact is its weight times its rarity, `log(1 + N / df)`. What stands nowhere counts as standing
        in one sentence if it can not be paraphrased, otherwise in two.
        """
        places: dict[int, list[Hit]] = {}
        for hit in hits:
            places.setdefault(hit.sentence, []).append(hit)
        absent = 1 if fact.kind in DECISIVE else 2
        return cls(fact, places, WEIGHT[fact.kind] * math.log1p(sentences / (len(places) or absent)))
