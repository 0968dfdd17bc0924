import numpy as np
import pytest

from steelyard_reranker.selection import EmbeddingMisalignedError, Embeddings, SelectionError

QUERY = [0.0, 2.0]
GOOD = {"a": [3.0, 4.0], "b": [0.0, -5.0]}


def test_vectors_are_matched_by_id_and_scaled_to_length_one():
    unit = Embeddings(GOOD, QUERY).align(["b", "a"])
    assert unit.chunks.dtype == np.float32
    assert unit.chunks == pytest.approx(np.array([[0.0, -1.0], [0.6, 0.8]]))
    assert unit.query == pytest.approx(np.array([0.0, 1.0]))


def test_some_rows_can_be_taken():
    unit = Embeddings(GOOD, QUERY).align(["b", "a"]).rows([1])
    assert unit.chunks == pytest.approx(np.array([[0.6, 0.8]]))


def test_what_comes_in_is_not_written_to():
    chunk, query = np.array([3.0, 4.0], dtype=np.float32), np.array([0.0, 2.0], dtype=np.float32)
    Embeddings({"a": chunk}, query).align(["a"])
    assert chunk.tolist() == [3.0, 4.0]
    assert query.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4", "<f4"])
def test_any_floats_will_do(dtype):
    unit = Embeddings({"a": np.array([3.0, 4.0], dtype=dtype)}, QUERY).align(["a"])
    assert unit.chunks == pytest.approx(np.array([[0.6, 0.8]]))


def test_no_candidates_need_only_a_query():
    assert Embeddings({}, QUERY).align([]).chunks.shape == (0, 2)


@pytest.mark.parametrize(
    ("chunks", "query", "message"),
    [
        (GOOD, None, "the query has no embedding"),
        ({"a": [1.0, 0.0]}, QUERY, "1 of 2 chunks have no embedding: 'b'"),
        ({"a": None, "b": [1.0, 0.0]}, QUERY, "1 of 2 chunks have no embedding: 'a'"),
        ({}, QUERY, "2 of 2 chunks have no embedding: 'a', 'b'"),
        ({**GOOD, "c": [1.0, 0.0]}, QUERY, "1 embeddings belong to no candidate: 'c'"),
        ({**GOOD, "c": None}, QUERY, "1 embeddings belong to no candidate: 'c'"),
        ({"a": [1.0, 0.0], "c": [1.0, 0.0]}, QUERY, "1 of 2 chunks have no embedding: 'b'"),
        ({"a": [1.0, 0.0], "b": [1.0]}, QUERY, "embedding of 'b' has 1 numbers, the query's has 2"),
        ({"a": [1.0, 0.0], "b": [1.0, 0.0, 0.0]}, QUERY, "embedding of 'b' has 3 numbers, the query's has 2"),
        (GOOD, [1.0, 0.0, 0.0], "embedding of 'a' has 2 numbers, the query's has 3"),
        (GOOD, [], r"embedding of 'the query' has shape \(0,\), not \(d,\)"),
        (GOOD, 1.0, r"embedding of 'the query' has shape \(\), not \(d,\)"),
        ({**GOOD, "b": [[1.0, 0.0]]}, QUERY, r"embedding of 'b' has shape \(1, 2\), not \(d,\)"),
        ({**GOOD, "b": [1.0, [0.0]]}, QUERY, "embedding of 'b' is not a vector of numbers"),
        ({**GOOD, "b": ["x", "y"]}, QUERY, "embedding of 'b' is not a vector of numbers"),
        ({**GOOD, "b": [float("nan"), 1.0]}, QUERY, "embedding of 'b' has numbers that are not finite"),
        ({**GOOD, "b": [float("inf"), 1.0]}, QUERY, "embedding of 'b' has numbers that are not finite"),
        ({**GOOD, "b": [None, 1.0]}, QUERY, "embedding of 'b' has numbers that are not finite"),
        ({**GOOD, "b": [1e300, 1.0]}, QUERY, "embedding of 'b' has numbers that are not finite in float32"),
        ({**GOOD, "b": [1e30, 1.0]}, QUERY, "embedding of 'b' has numbers that are not finite in float32"),
        ({**GOOD, "b": [10**400, 1]}, QUERY, "embedding of 'b' is not a vector of numbers"),
        ({**GOOD, "b": [0.0, -0.0]}, QUERY, "embedding of 'b' has a norm of zero"),
        ({**GOOD, "b": [1e-30, 0.0]}, QUERY, "embedding of 'b' has a norm of zero"),
        (GOOD, [0.0, 0.0], "embedding of 'the query' has a norm of zero"),
        (GOOD, [float("nan"), 0.0], "embedding of 'the query' has numbers that are not finite"),
    ],
)
def test_each_fault_is_named(chunks, query, message):
    with pytest.raises(EmbeddingMisalignedError, match=message):
        Embeddings(chunks, query).align(["a", "b"])


def test_many_missing_ones_are_counted_and_the_first_named():
    with pytest.raises(EmbeddingMisalignedError, match=r"9 of 10 chunks have no embedding: 'c1', 'c2', 'c3', \.\.\."):
        Embeddings({"c0": [1.0]}, [1.0]).align([f"c{index}" for index in range(10)])


def test_misalignment_is_a_fault_of_the_data():
    assert issubclass(EmbeddingMisalignedError, RuntimeError)
    assert issubclass(EmbeddingMisalignedError, SelectionError)
    assert not issubclass(EmbeddingMisalignedError, ValueError)
