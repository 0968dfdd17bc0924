"""A fact together with the places of the evidence that hold it."""

from collections.abc import Iterable
from typing import NamedTuple

from .facts import Fact
from .index import Hit


class Located(NamedTuple):
    """`places` are the hits of the fact by evidence sentence."""

    fact: Fact
    places: dict[int, list[Hit]]

    @classmethod
    def of(cls, fact: Fact, hits: Iterable[Hit]) -> "Located":
        """Order `hits` by their sentence."""
        places: dict[int, list[Hit]] = {}
        for hit in hits:
            places.setdefault(hit.sentence, []).append(hit)
        return cls(fact, places)
