import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_models.encoder import Vectors
from steelyard_models.late_interaction import max_similarities, maxsim


def unit(rows: list[list[float]]) -> Vectors:
    array = np.array(rows, dtype=np.float32)
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    return (array / np.where(norms > 0, norms, 1)).astype(np.float32)


def test_each_query_token_takes_its_best_match() -> None:
    query = unit([[1, 0], [0, 1]])
    document = unit([[1, 1], [1, 0], [-1, 0]])
    np.testing.assert_allclose(max_similarities(query, document), [1, np.sqrt(0.5)], rtol=1e-6)
    assert maxsim(query, document) == pytest.approx((1 + np.sqrt(0.5)) / 2)


def test_opposite_directions_reach_the_lower_end() -> None:
    assert maxsim(unit([[1, 0]]), unit([[-1, 0]])) == -1


def test_unknown_tokens_never_match_each_other() -> None:
    unknown, known = [0.0, 0.0], [1.0, 0.0]
    assert maxsim(unit([unknown]), unit([unknown])) == 0
    assert maxsim(unit([known, unknown]), unit([known, unknown])) == pytest.approx(0.5)
    # An unreadable document token is no match of similarity 0 either.
    assert maxsim(unit([known]), unit([unknown, [-1.0, 0.0]])) == -1


@pytest.mark.parametrize(("query", "document"), [(0, 3), (3, 0), (0, 0)])
def test_empty_texts_score_zero(query: int, document: int) -> None:
    assert maxsim(np.zeros((query, 2), np.float32), np.ones((document, 2), np.float32)) == 0


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_score_stays_in_its_range_and_ignores_order(query_size: int, document_size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    query = unit(rng.normal(size=(query_size, 5)).tolist())
    document = unit(rng.normal(size=(document_size, 5)).tolist())
    score = maxsim(query, document)
    assert -1 <= score <= 1
    assert maxsim(query[::-1], document[::-1]) == pytest.approx(score, abs=1e-6)
    assert maxsim(query, np.concatenate([document, query])) == pytest.approx(1, abs=1e-6)
