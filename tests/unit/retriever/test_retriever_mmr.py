"""Maximal marginal relevance against a literal transcription of its formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_retriever.mmr import maximal_marginal_relevance


def gain(row: int, chosen: list[int], relevance: np.ndarray, vectors: np.ndarray, lambda_mult: float) -> float:
    """The formula of Carbonell and Goldstein, written as it stands."""
    similar = [
        float(vectors[row] @ vectors[j] / (np.linalg.norm(vectors[row]) * np.linalg.norm(vectors[j]))) for j in chosen
    ]
    return lambda_mult * float(relevance[row]) - (1 - lambda_mult) * max(similar, default=0.0)


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    k=st.integers(0, 15),
    lambda_mult=st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0]),
)
def test_every_choice_is_the_best_by_the_formula(seed: int, n: int, k: int, lambda_mult: float) -> None:
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((n, 5)).astype(np.float32) * random.uniform(0.1, 10, (n, 1)).astype(np.float32)
    query = random.standard_normal(5)
    relevance = vectors @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))
    chosen = maximal_marginal_relevance(relevance, vectors, k, lambda_mult)
    assert len(chosen) == len(set(chosen)) == min(n, k)
    for turn, row in enumerate(chosen):
        before = chosen[:turn]
        gains = [gain(other, before, relevance, vectors, lambda_mult) for other in range(n) if other not in before]
        # float32 cosines are exact to about 1e-6; real ties have tests of their own
        assert gain(row, before, relevance, vectors, lambda_mult) >= max(gains) - 1e-5


def test_lambda_one_is_plain_relevance_and_the_vectors_do_not_matter() -> None:
    relevance = np.array([0.2, 0.9, 0.5])
    assert maximal_marginal_relevance(relevance, np.ones((3, 2), dtype=np.float32), 3, 1.0) == [1, 2, 0]


def test_lambda_zero_is_plain_diversity_from_the_first_row_on() -> None:
    vectors = np.array([[1, 0], [1, 0.1], [0, 1], [-1, 0]], dtype=np.float32)
    assert maximal_marginal_relevance(np.array([0.1, 0.9, 0.8, 0.2]), vectors, 4, 0.0) == [0, 3, 2, 1]


@pytest.mark.parametrize("k", [3, 4, 100])
def test_k_beyond_n_chooses_every_row_once(k: int) -> None:
    chosen = maximal_marginal_relevance(np.array([0.1, 0.2, 0.3]), np.eye(3, dtype=np.float32), k, 0.5)
    assert sorted(chosen) == [0, 1, 2]


def test_k_zero_and_no_rows_choose_nothing() -> None:
    assert maximal_marginal_relevance(np.array([0.1]), np.ones((1, 2), dtype=np.float32), 0, 0.5) == []
    assert maximal_marginal_relevance(np.zeros(0), np.zeros((0, 2), dtype=np.float32), 3, 0.5) == []


def test_ties_take_the_lower_row() -> None:
    vectors = np.array([[1, 0], [1, 0], [1, 0]], dtype=np.float32)
    assert maximal_marginal_relevance(np.full(3, 0.5), vectors, 3, 0.5) == [0, 1, 2]


def test_a_duplicate_waits_behind_something_less_relevant_but_new() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    assert maximal_marginal_relevance(np.array([0.9, 0.9, 0.3]), vectors, 2, 0.5) == [0, 2]


def test_what_is_passed_in_is_not_written_to() -> None:
    relevance, vectors = np.array([0.4, 0.5]), np.array([[3, 0], [0, 5]], dtype=np.float32)
    before = relevance.copy(), vectors.copy()
    maximal_marginal_relevance(relevance, vectors, 2, 0.5)
    np.testing.assert_array_equal(relevance, before[0])
    np.testing.assert_array_equal(vectors, before[1])
