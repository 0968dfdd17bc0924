"""A fact together with the places of the evidence that hold it."""

import math
from collections.abc import Set
from typing import NamedTuple

from .facts import DECISIVE, WEIGHT, Fact
from .index import EvidenceIndex, Places
from .lexicon.language import Language


class Located(NamedTuple):
    """A fact of an answer or question in the evidence.

    `places` are the facts of the evidence that hold it, by evidence sentence; `spoken_of` are these sentences and those
    under a heading among them; `value` is what the fact counts.
    """

    fact: Fact
    places: Places
    spoken_of: Set[int]
    value: float

    @classmethod
    def of(cls, fact: Fact, index: EvidenceIndex, language: Language) -> "Located":
        """Find a fact of a text in `language` and weigh it.

        The value of a fact is its weight times its rarity, `log(1 + N / df)` over N evidence sentences. What stands
        nowhere counts as standing in one sentence if it can not be paraphrased, otherwise in two.
        """
        places = index.find(fact, language)
        absent = 1 if fact.kind in DECISIVE else 2
        value = WEIGHT[fact.kind] * math.log1p(index.size / (len(places) or absent))
        return cls(fact, places, index.below(places), value)
