"""The vector index itself: lists, probes, training, refusals."""

import numpy as np
import pytest

from tests.arangosim.errors import ArangoError
from tests.arangosim.vector_index import VectorIndex, train

DIMENSION = 16


def clustered(count: int, seed: int = 0) -> np.ndarray:
    """float32 of shape (count, 16) around 25 centres, as embeddings are around topics."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(25, DIMENSION))
    return (centres[rng.integers(0, 25, count)] + rng.normal(scale=0.9, size=(count, DIMENSION))).astype(np.float32)


def an_index(rows: np.ndarray, n_lists: int, metric: str = "cosine", **extra) -> VectorIndex:
    params = {"metric": metric, "dimension": DIMENSION, "nLists": n_lists}
    index = VectorIndex("1", {"type": "vector", "fields": ["e"], "params": params} | extra)
    for number, row in enumerate(rows):
        index.put({"_key": f"{number:04}", "e": row.tolist()})
    return index


def exact(rows: np.ndarray, query: np.ndarray, count: int, metric: str) -> list[str]:
    if metric == "cosine":
        scores = rows @ query / np.linalg.norm(rows, axis=1)
    elif metric == "l2":
        scores = -np.linalg.norm(rows - query, axis=1)
    else:
        scores = rows @ query
    return [f"{number:04}" for number in np.argsort(-scores, kind="stable")[:count]]


def recall(index: VectorIndex, rows: np.ndarray, n_probe: int | None, metric: str = "cosine") -> float:
    found = wanted = 0
    for query in clustered(30, seed=5):
        keys = [key for key, _ in index.search(query.tolist(), 10, n_probe, lambda _key: True)]
        truth = exact(rows, query, 10, metric)
        found, wanted = found + len(set(keys) & set(truth)), wanted + len(truth)
    return found / wanted


@pytest.mark.parametrize("metric", ["cosine", "l2", "innerProduct"])
def test_probing_all_lists_is_exact_and_ordered(metric):
    rows = clustered(400)
    index = an_index(rows, 20, metric)
    assert index.train_now()

    for query in clustered(20, seed=9):
        keys = [key for key, _ in index.search(query.tolist(), 10, 20, lambda _key: True)]
        assert keys == exact(rows, query, 10, metric)


def test_one_probe_loses_recall_and_more_probes_win_it_back():
    rows = clustered(800)
    index = an_index(rows, 40)
    index.train_now()

    by_probes = [recall(index, rows, n_probe) for n_probe in (1, 4, 12, 40)]

    assert by_probes == sorted(by_probes)
    assert by_probes[0] < 0.7
    assert by_probes[2] > 0.9
    assert by_probes[3] == 1.0


def test_the_default_number_of_probes_is_one_and_the_definition_can_change_it():
    rows = clustered(400)
    lazy, thorough = an_index(rows, 20), an_index(rows, 20)
    thorough.parameters = type(thorough.parameters)("cosine", DIMENSION, 20, default_n_probe=20)
    lazy.train_now(), thorough.train_now()

    assert recall(lazy, rows, None) == recall(lazy, rows, 1) < 1.0
    assert recall(thorough, rows, None) == 1.0


def test_scores_are_similarities_or_distances():
    rows = np.eye(DIMENSION, dtype=np.float32)[:2] * 3
    query = (np.eye(DIMENSION)[0] * 2).tolist()
    scores = {}
    for metric in ("cosine", "l2", "innerProduct"):
        index = an_index(rows, 1, metric)
        index.train_now()
        scores[metric] = [score for _, score in index.search(query, 2, 1, lambda _key: True)]

    assert scores["cosine"] == pytest.approx([1.0, 0.0])
    assert scores["l2"] == pytest.approx([1.0, np.sqrt(13)])
    assert scores["innerProduct"] == pytest.approx([6.0, 0.0])


def test_a_filter_applies_within_the_probed_lists_only():
    rows = clustered(400)
    index = an_index(rows, 20)
    index.train_now()
    query = clustered(1, seed=3)[0].tolist()
    best = {key for key, _ in index.search(query, 400, 1, lambda _key: True)}

    found = list(index.search(query, 10, 1, lambda key: key not in best))

    assert found == []
    assert len(list(index.search(query, 10, 20, lambda key: key not in best))) == 10


def test_training_is_deterministic_and_separates_clusters():
    rows = np.concatenate([np.full((5, 2), 0.0), np.full((5, 2), 9.0)]).astype(np.float32)

    centroids = train(rows, 2, 10)

    assert sorted(map(tuple, centroids.tolist())) == [(0.0, 0.0), (9.0, 9.0)]
    assert np.array_equal(train(clustered(200), 9, 25), train(clustered(200), 9, 25))


def test_writes_after_training_move_between_lists():
    index = an_index(clustered(100), 5)
    index.train_now()
    target = clustered(1, seed=77)[0].tolist()

    index.put({"_key": "new", "e": target})
    assert next(iter(index.search(target, 1, 1, lambda _key: True)))[0] == "new"

    index.remove({"_key": "new", "e": target})
    assert all(key != "new" for key, _ in index.search(target, 200, 5, lambda _key: True))
    index.clear()
    assert list(index.search(target, 5, 5, lambda _key: True)) == []


def test_too_few_documents_leave_it_unusable_and_searching_is_1555():
    index = an_index(clustered(4), 5)

    assert not index.train_now()
    assert index.state == "unusable"
    with pytest.raises(ArangoError) as caught:
        index.search([0.0] * DIMENSION, 1, 1, lambda _key: True)
    assert caught.value.number == 1555


@pytest.mark.parametrize("query", [[1.0] * (DIMENSION - 1), "text", None, ["a"] * DIMENSION, [True] * DIMENSION])
def test_a_query_that_is_no_vector_of_the_dimension_is_1542(query):
    index = an_index(clustered(10), 2)
    index.train_now()

    with pytest.raises(ArangoError) as caught:
        index.search(query, 1, 1, lambda _key: True)
    assert caught.value.number == 1542


def test_a_fork_does_not_change_its_origin():
    index = an_index(clustered(50), 5)
    index.train_now()
    target = clustered(1, seed=8)[0].tolist()

    index.fork().put({"_key": "new", "e": target})

    assert all(key != "new" for key, _ in index.search(target, 100, 5, lambda _key: True))


@pytest.mark.parametrize(
    "change",
    [
        {"metric": "hamming"},
        {"dimension": 0},
        {"dimension": None},
        {"nLists": 0},
        {"nLists": 2.5},
        {"defaultNProbe": 0},
        {"trainingIterations": True},
    ],
)
def test_wrong_parameters_are_refused(change):
    params = {"metric": "cosine", "dimension": 4, "nLists": 2} | change

    with pytest.raises(ArangoError) as caught:
        VectorIndex("1", {"type": "vector", "fields": ["e"], "params": params})
    assert caught.value.number == 10
    assert next(iter(change)) in caught.value.message
