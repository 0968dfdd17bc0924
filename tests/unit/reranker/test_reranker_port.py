"""The check that every backend's scores pass: the whole reply, or none of it."""

from typing import Any

import pytest

from steelyard_reranker.backends.port import RerankBackendError, checked
from steelyard_reranker.row_fault import RowFault


@pytest.mark.parametrize("scores", [[], [0.0], [1.0, 0.5], [0, 1], [5e-324, 1 - 2**-53]])
def test_scores_in_scale_pass_as_they_are(scores: list[Any]) -> None:
    assert checked(scores, len(scores)) is scores


@pytest.mark.parametrize(("count", "scores"), [(1, []), (0, [0.5]), (2, [0.5]), (2, [0.5] * 3)])
def test_another_count_is_refused(count: int, scores: list[float]) -> None:
    with pytest.raises(RerankBackendError, match=f"{len(scores)} of {count}") as error:
        checked(scores, count)
    assert error.value.reason == "wrong_count"


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (float("nan"), "not_finite"),
        (float("inf"), "not_finite"),
        (float("-inf"), "not_finite"),
        (-0.001, "out_of_scale"),
        (1.0000001, "out_of_scale"),
        (-7.5, "out_of_scale"),
        (2, "out_of_scale"),
        (True, "not_a_number"),
        (False, "not_a_number"),
        ("0.5", "not_a_number"),
        (None, "not_a_number"),
        ([0.5], "not_a_number"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_bad_score_spoils_the_reply(score: Any, reason: str, place: int) -> None:
    scores: list[Any] = [0.5, 0.5, 0.5]
    scores[place] = score
    with pytest.raises(RerankBackendError) as error:
        checked(scores, 3)
    assert error.value.reason == reason


def test_the_fault_of_one_row_leaves_the_others_their_scores() -> None:
    given = [0.5, RowFault("text_too_long", "600 tokens"), 0.25]
    assert checked(given, 3) is given


def test_faults_of_all_rows_are_no_reply() -> None:
    with pytest.raises(RerankBackendError, match="each of 2 candidates: 600 tokens") as error:
        checked([RowFault("text_too_long", "600 tokens"), RowFault("blank", "no text")], 2)
    assert error.value.reason == "text_too_long"
