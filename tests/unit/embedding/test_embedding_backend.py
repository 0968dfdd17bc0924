"""The checks that every backend's vectors pass."""

import numpy as np
import pytest

from steelyard_embedding.backends.port import EmbeddingBackendError, ModelChangedError, checked, same_direction


def vectors(*rows: list[float]) -> np.ndarray:
    return np.array(rows, dtype=np.float32)


def test_usable_vectors_are_returned_as_they_are() -> None:
    given = vectors([1, 0], [0.5, 0.5])
    assert checked(given, 2, 2) is given


@pytest.mark.parametrize("shape", [(1, 2), (3, 2), (2, 1), (2, 3), (4,), (2, 2, 1)])
def test_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(EmbeddingBackendError, match="shape"):
        checked(np.ones(shape, dtype=np.float32), 2, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, 3e38])
def test_a_vector_without_a_direction_is_refused_by_its_number(value: float) -> None:
    with pytest.raises(EmbeddingBackendError, match="text 1 "):
        checked(vectors([1, 0], [value, value], [value, value]), 3, 2)


def test_one_bad_value_is_enough() -> None:
    with pytest.raises(EmbeddingBackendError, match="text 0 "):
        checked(vectors([1, np.nan]), 1, 2)


def test_a_probe_vector_of_another_length_but_the_same_direction_is_the_same_model() -> None:
    same_direction(vectors([1, 2])[0], vectors([2, 4])[0])


@pytest.mark.parametrize("now", [[1.0, 2.4], [-1.0, -2.0], [2.0, -1.0], [np.nan, 2.0]])
def test_a_probe_vector_that_turned_is_another_model(now: list[float]) -> None:
    with pytest.raises(ModelChangedError):
        same_direction(vectors([1, 2])[0], vectors(now)[0])


def test_the_tolerance_is_a_thousandth() -> None:
    angle_within, angle_beyond = np.arccos(1 - 0.0009), np.arccos(1 - 0.0011)
    same_direction(vectors([1, 0])[0], vectors([np.cos(angle_within), np.sin(angle_within)])[0])
    with pytest.raises(ModelChangedError, match=r"0\.9989"):
        same_direction(vectors([1, 0])[0], vectors([np.cos(angle_beyond), np.sin(angle_beyond)])[0])
