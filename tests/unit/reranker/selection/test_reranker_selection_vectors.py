"""The regression vectors of the selection design, each recomputed by hand next to its assertion.

Chunk vectors are orthogonal unless a test says otherwise, so the cosine to any kept chunk is 0, the novelty is 1 and
its weight is 1 / (1 + exp(-20 * 0.75)) = 0.9999997, written as 1 in the arithmetic below. A token costs 0.0025.
"""

import numpy as np
import pytest

from steelyard_contracts.enums import Reason
from steelyard_reranker.selection import Candidate, Candidates, Embeddings, Selection, SelectionSettings, select


def weigh(scores: list[float], tokens: int | list[int], **settings: float | None) -> Selection:
    counts = tokens if isinstance(tokens, list) else [tokens] * len(scores)
    candidates = Candidates.from_records(
        Candidate(f"c{index}", score, count) for index, (score, count) in enumerate(zip(scores, counts, strict=True))
    )
    axes = np.eye(len(scores))
    embeddings = Embeddings({f"c{index}": axes[index] for index in range(len(scores))}, np.ones(len(scores)))
    return select("adaptive", candidates, SelectionSettings(**settings), embeddings)


def values(selection: Selection) -> list[float]:
    return [decision.value.value for decision in selection.decisions if decision.value is not None]


def reasons(selection: Selection) -> list[Reason]:
    return [decision.reason for decision in selection.decisions]


def test_four_descending_scores_at_250_tokens_keep_two():
    selection = weigh([0.95, 0.82, 0.61, 0.30], 250)
    # mean 2.68 / 4 = 0.67, median (0.82 + 0.61) / 2 = 0.715, skew (0.67 - 0.715) / 0.67 = -0.067164
    # tanh(skew) = -0.067063, so the reference level is 0.67 * 0.932937 = 0.625068
    # token cost 0.625; den = 0.95 - 0.67 = 0.28
    # 1: 0.95 + 0.324932 - 0.625 - (0.05 + 0        ) =  0.599932
    # 2: 0.82 + 0.194932 - 0.625 - (0.18 + 0.13/0.28) = -0.254353   > -1
    # 3: 0.61 - 0.015068 - 0.625 - (0.39 + 0.34/0.28) = -1.634354
    # 4: 0.30 - 0.325068 - 0.625 - (0.70 + 0.65/0.28) = -3.671497
    assert values(selection) == pytest.approx([0.599932, -0.254353, -1.634354, -3.671497], abs=2e-6)
    assert selection.kept == ("c0", "c1")
    assert selection.outcome == "ok"


def test_five_irrelevant_scores_keep_none():
    selection = weigh([0.002, 0.0001, 0.0001, 0.0001, 0.0001], 250)
    # mean 0.0024 / 5 = 0.00048, median 0.0001, skew 0.791667, tanh 0.659352, level 0.00048 * 1.659352 = 0.000796
    # best: 0.002 + 0.001204 - 0.625 - (0.998 + 0) = -1.619796; the others gain less
    # and cost more; the floor of 0.5 is not reached
    assert values(selection)[0] == pytest.approx(-1.619796, abs=2e-6)
    assert selection.kept == ()
    assert selection.outcome == "empty"
    assert set(reasons(selection)) == {Reason.VALUE_BELOW_THRESHOLD}


def test_three_good_and_two_bad_scores_keep_no_bad_one():
    selection = weigh([0.9, 0.9, 0.9, 0.01, 0.01], 250)
    # mean 2.72 / 5 = 0.544, median 0.9, skew -0.654412, tanh -0.574632, level 0.544 * 0.425368 = 0.231400
    # good: 0.9 + 0.668600 - 0.625 - 0.1 = 0.843600; den = 0.356
    # bad: 0.01 - 0.221400 - 0.625 - (0.99 + 0.89 / 0.356) = -4.326400
    assert values(selection) == pytest.approx([0.843600] * 3 + [-4.326400] * 2, abs=2e-6)
    assert selection.kept == ("c0", "c1", "c2")


def test_long_chunks_pass_nothing_and_the_floor_keeps_the_best():
    selection = weigh([0.95, 0.82, 0.61, 0.30], 1000)
    # as at 250 tokens, with 2.5 instead of 0.625 for the tokens: every value is 1.875 lower
    assert values(selection) == pytest.approx([-1.275068, -2.129353, -3.509354, -5.546497], abs=2e-6)
    assert selection.kept == ("c0",)
    assert reasons(selection) == [Reason.KEPT_FLOOR] + [Reason.VALUE_BELOW_THRESHOLD] * 3
    assert selection.decisions[0].rank == 1


def test_without_the_floor_token_cost_alone_empties_the_context():
    assert weigh([0.95, 0.82, 0.61, 0.30], 1000, adaptive_floor_score=None).outcome == "empty"


@pytest.mark.parametrize(("floor", "kept"), [(0.95, ("c0",)), (0.9500001, ()), (0.0, ("c0",)), (None, ())])
def test_the_floor_is_reached_by_an_equal_score_and_zero_is_not_off(floor, kept):
    assert weigh([0.95, 0.82], 2000, adaptive_floor_score=floor).kept == kept


@pytest.mark.parametrize("score", [1.0, 0.5, 0.25])
def test_a_single_chunk_survives_below_800_tokens_per_unit_of_score(score):
    # one score: mean = median = s, relevance s, confusion 1 - s, so value = 2 s - 1 - 0.0025 t > -1  <=>  t < 800 s
    limit = int(800 * score)
    assert weigh([score], limit - 1, adaptive_floor_score=None).kept == ("c0",)
    assert weigh([score], limit, adaptive_floor_score=None).kept == ()


@pytest.mark.parametrize("second", [0.85, 0.899, 0.1])
def test_the_second_of_two_pays_a_gap_of_two_however_close_it_is(second):
    selection = weigh([0.9, second], 50)
    # the mean is half way, so (s1 - s2) / (s1 - mean) = 2; at 0.85: 0.85 - 0.025 - 0.125 - (0.15 + 2) = -1.45
    assert selection.decisions[1].value.confusion_cost == pytest.approx(1 - second + 2)
    assert selection.kept == ("c0",)


def test_all_zero_scores_have_no_skew_and_keep_none():
    selection = weigh([0.0, 0.0, 0.0], 250)
    # mean 0: skew 0, relevance 0; flat: no gap term; value 0 - 0.625 - 1
    assert values(selection) == pytest.approx([-1.625] * 3, abs=1e-12)
    assert selection.outcome == "empty"


def test_differences_of_a_millionth_are_flat_and_have_no_gap_term():
    selection = weigh([0.5000009, 0.5, 0.5], 100)
    # s1 - mean = 6e-7 < 1e-6; without the guard chunks 2 and 3 would pay 9e-7 / 1e-6 = 0.9 for nothing
    costs = [decision.value.confusion_cost for decision in selection.decisions]
    assert costs == pytest.approx([0.4999991, 0.5, 0.5], abs=1e-12)
    assert selection.kept == ("c0", "c1", "c2")


def test_just_above_flat_the_gap_term_counts():
    selection = weigh([0.500003, 0.5, 0.5], 100)
    # s1 - mean = 2e-6; chunks 2 and 3 pay 3e-6 / 2e-6 = 1.5 more
    costs = [decision.value.confusion_cost for decision in selection.decisions]
    assert costs == pytest.approx([0.499997, 2.0, 2.0], abs=1e-6)


def test_short_duplicates_survive_the_formula_and_fall_only_by_their_text():
    vector = [0.6, 0.8]
    embeddings = Embeddings({"a": vector, "b": vector}, [1.0, 0.0])
    records = [Candidate("a", 0.9, 10), Candidate("b", 0.9, 10)]
    unknown_texts = select("adaptive", Candidates.from_records(records), SelectionSettings(), embeddings)
    # b: novelty 0, weight 1 / (1 + e^5) = 0.006693, utility 0.9 * 0.006693 = 0.006024, cost 0.025 + 0.1 -> -0.118976
    assert values(unknown_texts)[1] == pytest.approx(-0.118976, abs=1e-5)
    assert unknown_texts.kept == ("a", "b")

    same_text = [record._replace(text="Torque: 12 Nm.") for record in records]
    known_texts = select("adaptive", Candidates.from_records(same_text), SelectionSettings(), embeddings)
    assert known_texts.kept == ("a",)
    assert reasons(known_texts) == [Reason.SELECTED, Reason.DUPLICATE]
    assert known_texts.decisions[1].value is None
