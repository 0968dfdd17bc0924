"""Cosine floors: 0 is a floor, None is none, and a candidate without a cosine is not judged."""

import pytest

from steelyard_runtime.floors import CosineFloors

COSINES = {"a": 0.9, "b": 0.5, "c": 0.0, "d": -0.2}


@pytest.mark.parametrize(
    ("floors", "dropped"),
    [
        (CosineFloors(), ""),
        (CosineFloors(best=0.9), ""),
        (CosineFloors(best=0.91), "abcd"),
        (CosineFloors(each=0.0), "d"),
        (CosineFloors(each=0.5), "cd"),
        (CosineFloors(best=0.95, each=0.5), "abcd"),
        (CosineFloors(each=-1.0), ""),
    ],
)
def test_what_a_floor_drops(floors: CosineFloors, dropped: str) -> None:
    assert floors.below(COSINES) == frozenset(dropped)


def test_nothing_known_is_nothing_dropped() -> None:
    assert CosineFloors(best=1.0, each=1.0).below({}) == frozenset()
