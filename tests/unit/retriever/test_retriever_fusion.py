"""Reciprocal rank fusion against its formula, term by term."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_retriever.fusion import reciprocal_rank_fusion

rankings = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=3)


def test_a_worked_example() -> None:
    fused = reciprocal_rank_fusion([["a", "b", "c"], ["c", "a"]])
    assert [chunk_id for chunk_id, _ in fused] == ["a", "c", "b"]
    assert [score for _, score in fused] == [
        pytest.approx(1 / 61 + 1 / 62),
        pytest.approx(1 / 63 + 1 / 61),
        pytest.approx(1 / 62),
    ]


@given(rankings)
def test_scores_and_order_are_the_formulas(given_rankings: list[list[str]]) -> None:
    exact: dict[str, Fraction] = {}
    best: dict[str, int] = {}
    for ranking in given_rankings:
        for position, chunk_id in enumerate(ranking):
            exact[chunk_id] = exact.get(chunk_id, Fraction(0)) + Fraction(1, 61 + position)
            best[chunk_id] = min(best.get(chunk_id, 99), position)
    fused = reciprocal_rank_fusion(given_rankings)
    assert dict(fused) == {chunk_id: pytest.approx(float(score)) for chunk_id, score in exact.items()}
    assert len(fused) == len(exact)
    by_score = [exact[chunk_id] for chunk_id, _ in fused]
    assert by_score == sorted(by_score, reverse=True)


def test_equal_scores_go_by_the_best_single_rank_and_then_by_id() -> None:
    assert [one for one, _ in reciprocal_rank_fusion([["b", "x"], ["a", "y"]])] == ["a", "b", "x", "y"]
    # Rank 62 twice is exactly as much as rank 1 once: 2 / 122 = 1 / 61.
    first = ["z", *(f"f{number}" for number in range(60)), "a"]
    second = [*(f"g{number}" for number in range(61)), "a"]
    fused = reciprocal_rank_fusion([first, second])
    assert [one for one, score in fused if score == 1 / 61] == ["g0", "z", "a"]


def test_the_order_of_the_rankings_does_not_matter() -> None:
    one, other = ["a", "b", "c", "d"], ["d", "e", "a"]
    assert reciprocal_rank_fusion([one, other]) == reciprocal_rank_fusion([other, one])


def test_nothing_fuses_to_nothing() -> None:
    assert reciprocal_rank_fusion([]) == []
    assert reciprocal_rank_fusion([[], []]) == []
