import numpy as np
import pytest

from steelyard_reranker.selection import Candidate, Candidates, InvalidCandidatesError, ScoreOutOfScaleError


def columns(**changes):
    base = {
        "chunk_ids": ("a", "b"),
        "scores": np.array([0.1, 0.9]),
        "token_counts": np.array([10, 20]),
        "texts": (None, None),
        "retrieval_ranks": np.array([0, 1]),
    }
    return Candidates(**{**base, **changes})


def in_order(*records):
    candidates = Candidates.from_records(records)
    order, readable = candidates.canonical_order()
    return [candidates.chunk_ids[index] for index in order], readable


def test_rows_become_columns():
    candidates = Candidates.from_records([Candidate("a", 1, 10, "x", 4), Candidate("b", 0.25, 0)])
    assert candidates.chunk_ids == ("a", "b")
    assert candidates.scores.tolist() == [1.0, 0.25]
    assert candidates.scores.dtype == np.float64
    assert candidates.token_counts.tolist() == [10, 0]
    assert candidates.texts == ("x", None)
    assert candidates.retrieval_ranks.tolist() == [4, 0]
    assert len(candidates) == 2


def test_no_rows_are_no_candidates():
    assert len(Candidates.from_records([])) == 0
    assert in_order() == ([], 0)


def test_columns_are_copies_that_cannot_be_written():
    scores = np.array([0.1, 0.9])
    candidates = columns(scores=scores)
    scores[0] = 0.7
    assert candidates.scores.tolist() == [0.1, 0.9]
    with pytest.raises(ValueError, match="read-only"):
        candidates.scores[0] = 0.7


def test_order_is_score_then_rank_then_id():
    assert in_order(
        Candidate("z", 0.5, 1, None, 1),
        Candidate("b", 0.5, 1, None, 2),
        Candidate("a", 0.5, 1, None, 2),
        Candidate("low", 0.0, 1, None, 0),
        Candidate("high", 1.0, 1, None, 9),
    ) == (["high", "z", "a", "b", "low"], 5)


def test_blank_texts_come_last_whatever_their_score():
    assert in_order(
        Candidate("blank", 1.0, 0, " \n\u00a0"),
        Candidate("empty", 0.5, 0, ""),
        Candidate("unknown", 0.2, 5, None),
        Candidate("text", 0.1, 5, "x"),
    ) == (["unknown", "text", "blank", "empty"], 2)


@pytest.mark.parametrize("score", [-1e-9, 1.0000001, float("nan"), float("inf"), -float("inf"), 7])
def test_a_score_off_the_scale_is_named(score):
    with pytest.raises(ScoreOutOfScaleError, match=r"score of chunk 'b' must be a finite number in \[0, 1\], got"):
        columns(scores=np.array([0.5, score]))


@pytest.mark.parametrize("scores", [[0.0, 1.0], [0, 1], [-0.0, 0.5], np.array([0.5, 0.5], dtype=np.float32)])
def test_the_ends_of_the_scale_and_other_numbers_are_on_it(scores):
    assert len(columns(scores=scores)) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": np.array([0.5])}, "scores has 1 entries for 2 chunk ids"),
        ({"texts": ("x",)}, "texts has 1 entries for 2 chunk ids"),
        ({"token_counts": np.array([1, 2, 3])}, "token_counts has 3 entries"),
        ({"retrieval_ranks": np.array([], dtype=int)}, "retrieval_ranks has 0 entries"),
        ({"chunk_ids": ("a", "a")}, "chunk_id 'a' occurs more than once"),
        ({"chunk_ids": ("a", "")}, "chunk_id must be a non-empty string, got ''"),
        ({"chunk_ids": ("a", 7)}, "chunk_id must be a non-empty string, got 7"),
        ({"token_counts": np.array([5, -1])}, "token_count of chunk 'b' must be >= 0, got -1"),
        ({"retrieval_ranks": np.array([-2, 0])}, "retrieval_rank of chunk 'a' must be >= 0, got -2"),
        ({"token_counts": np.array([1.5, 2.0])}, "token_count must hold integers, got float64"),
        ({"token_counts": np.array([True, False])}, "token_count must hold integers, got bool"),
        ({"token_counts": [1, 2**64]}, "token_count must hold integers, got object"),
        ({"scores": np.array(["0.1", "0.2"])}, "score must hold numbers, got <U3"),
        ({"scores": [None, 0.5]}, "score must hold numbers, got object"),
        ({"scores": np.array([[0.1, 0.2]])}, r"score must be a one-dimensional column, got shape \(1, 2\)"),
    ],
)
def test_columns_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(InvalidCandidatesError, match=message):
        columns(**changes)
