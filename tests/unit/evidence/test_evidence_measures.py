"""Survival, nDCG and intervals, on cases that were worked out by hand or by another implementation."""

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import Qrel, ScoredDoc, nDCG

from steelyard_evidence.manifest import Place, Unit
from steelyard_evidence.measures.bootstrap import difference, interval
from steelyard_evidence.measures.ranking import ndcg
from steelyard_evidence.measures.survival import Survival, held, survival


def place(candidate: str, start: int, end: int, unit_start: int, unit_end: int) -> Place:
    return Place(candidate_id=candidate, start=start, end=end, unit_start=unit_start, unit_end=unit_end)


def unit(*places: Place, length: int = 100) -> Unit:
    return Unit(unit_id="u", length=length, places=list(places))


def test_evidence_in_two_chunks_is_whole_only_with_both() -> None:
    split = unit(place("a", 50, 110, 0, 60), place("b", 0, 40, 60, 100))
    assert held(split, {"a": [(0, 200)], "b": [(0, 200)]}) == 1.0
    assert held(split, {"a": [(0, 200)]}) == pytest.approx(0.6)
    assert held(split, {"a": [(0, 80)], "b": [(0, 10)]}) == pytest.approx(0.4)
    assert held(split, {}) == 0.0


def test_three_windows_of_one_sentence_are_one_piece_of_evidence() -> None:
    repeated = unit(place("a", 0, 100, 0, 100), place("b", 10, 110, 0, 100), place("c", 0, 50, 0, 50))
    everywhere = {name: [(0, 500)] for name in "abc"}
    assert held(repeated, everywhere) == 1.0
    assert held(repeated, {"c": [(0, 500)]}) == 0.5


def test_white_space_between_two_chunks_counts_as_held() -> None:
    split = unit(place("a", 0, 58, 0, 58), place("b", 0, 40, 60, 100))
    assert held(split, {"a": [(0, 58)], "b": [(0, 40)]}) == 1.0
    wide = unit(place("a", 0, 50, 0, 50), place("b", 0, 40, 60, 100))
    assert held(wide, {"a": [(0, 58)], "b": [(0, 40)]}) == pytest.approx(0.9)
    assert held(unit(place("a", 0, 97, 3, 100)), {"a": [(0, 97)]}) == pytest.approx(0.97)


def test_a_cut_is_carried_over_in_proportion() -> None:
    spaced = unit(place("a", 0, 200, 0, 100))
    assert held(spaced, {"a": [(0, 50)]}) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("share", "fate"), [(1.0, Survival.FULL), (0.99, Survival.PARTIAL), (0.01, Survival.PARTIAL), (0.0, Survival.LOST)]
)
def test_fates(share: float, fate: Survival) -> None:
    assert survival(share) is fate


@given(grades=st.lists(st.integers(0, 3), min_size=1, max_size=15), cutoff=st.integers(1, 12))
def test_ndcg_is_that_of_trec_eval_where_nothing_repeats(grades: list[int], cutoff: int) -> None:
    ranking = [{f"u{rank}": grade} if grade else {} for rank, grade in enumerate(grades)]
    qrels = [Qrel("q", f"d{rank}", grade) for rank, grade in enumerate(grades)]
    run = [ScoredDoc("q", f"d{rank}", float(-rank)) for rank in range(len(grades))]
    theirs = ir_measures.calc_aggregate([nDCG @ cutoff], qrels, run)[nDCG @ cutoff]
    assert ndcg(ranking, ranking, cutoff) == pytest.approx(theirs if any(grades) else 1.0)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=15), st.integers(0, 15), st.integers(1, 12))
def test_what_was_not_ranked_is_missed_as_trec_eval_misses_it(grades: list[int], ranked: int, cutoff: int) -> None:
    findable = [{f"u{rank}": grade} if grade else {} for rank, grade in enumerate(grades)]
    qrels = [Qrel("q", f"d{rank}", grade) for rank, grade in enumerate(grades)]
    run = [ScoredDoc("q", f"d{rank}", float(-rank)) for rank in range(min(ranked, len(grades)))]
    run.append(ScoredDoc("q", "unjudged", -99.0))
    theirs = ir_measures.calc_aggregate([nDCG @ cutoff], qrels, run)[nDCG @ cutoff]
    assert ndcg(findable[:ranked], findable, cutoff) == pytest.approx(theirs if any(grades) else 1.0)


def test_a_copy_gains_nothing_and_never_raises_the_ideal() -> None:
    ranking = [{"a": 1}, {"a": 1}, {"b": 1}]
    assert ndcg(ranking, ranking, 10) == pytest.approx((1 + 1 / 2) / (1 + 1 / np.log2(3)))
    assert ndcg([{"a": 1}, {"b": 1}, {"a": 1}], ranking, 10) == 1.0


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3), max_size=3), max_size=8))
def test_ndcg_is_in_its_range(ranking: list[dict[str, int]]) -> None:
    assert 0.0 <= ndcg(ranking, ranking, 5) <= 1.0


def test_intervals_are_the_same_each_time_and_pair_what_belongs_together() -> None:
    rng = np.random.default_rng(3)
    hard = rng.uniform(size=60)
    found = interval(hard)
    assert found == interval(hard.copy())
    assert found.low < found.mean < found.high
    assert found.mean == pytest.approx(hard.mean())
    # Paired, a constant gain is certain; unpaired, the spread of the questions would drown it.
    gain = difference(hard + 0.01, hard)
    assert gain.low == pytest.approx(0.01)
    assert gain.high == pytest.approx(0.01)
    assert found.high - found.low > 0.1


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    covered = [one.low <= 0.5 <= one.high for one in (interval(rng.uniform(size=40)) for _ in range(300))]
    assert 0.90 <= np.mean(covered) <= 0.99


def test_nothing_has_no_mean() -> None:
    with pytest.raises(ValueError, match="no queries"):
        interval(np.array([]))
    with pytest.raises(ValueError, match="can not be paired"):
        difference(np.ones(3), np.ones(2))
