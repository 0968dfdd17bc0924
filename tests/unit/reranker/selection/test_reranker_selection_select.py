import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_contracts.enums import Fate, Reason, Strategy
from steelyard_reranker.selection import (
    Candidate,
    Candidates,
    EmbeddingMisalignedError,
    Embeddings,
    SelectionSettings,
    UnknownStrategyError,
    parse_strategy,
    select,
)

DEFAULTS = SelectionSettings()


def reasons(selection):
    return {decision.chunk_id: decision.reason.value for decision in selection.decisions}


def embed(records, dimensions=4, seed=0):
    rng = np.random.default_rng(seed)
    vectors = {record.chunk_id: rng.normal(size=dimensions) for record in records}
    return Embeddings(vectors, rng.normal(size=dimensions))


def run(strategy, records, given_settings=DEFAULTS):
    return select(strategy, Candidates.from_records(records), given_settings, embed(records))


FIVE = [Candidate(name, score, 50) for name, score in [("e", 0.1), ("b", 0.8), ("a", 0.9), ("d", 0.2), ("c", 0.7)]]


@pytest.mark.parametrize(
    ("strategy", "changes", "kept", "reason"),
    [
        ("slice", {"top_n": 2}, "ab", "over_top_n"),
        ("threshold", {"threshold": 0.2}, "abcd", "below_threshold"),
        ("slice_threshold", {"top_n": 4, "threshold": 0.7}, "abc", "below_threshold"),
        ("slice_threshold", {"top_n": 1, "threshold": 0.0}, "a", "over_top_n"),
        ("knee_threshold", {}, "abc", "after_knee"),
    ],
)
def test_each_rule_says_why_the_rest_is_dropped(strategy, changes, kept, reason):
    selection = run(strategy, FIVE, SelectionSettings(**changes))
    assert selection.kept == tuple(kept)
    assert selection.strategy is Strategy(strategy)
    assert [d.chunk_id for d in selection.decisions] == list("abcde")
    assert [d.rank for d in selection.decisions] == [*range(1, len(kept) + 1)] + [None] * (5 - len(kept))
    assert {d.reason for d in selection.decisions if d.fate is Fate.DROPPED} == {Reason(reason)}
    assert {d.reason for d in selection.decisions if d.fate is Fate.SENT} == {Reason.SELECTED}
    assert all(d.value is None for d in selection.decisions)


@pytest.mark.parametrize("strategy", Strategy)
def test_no_candidates_are_an_empty_selection_with_or_without_vectors(strategy):
    for embeddings in (None, Embeddings({}, None)):
        selection = select(strategy, Candidates.from_records([]), DEFAULTS, embeddings)
        assert selection.outcome == "empty"
        assert selection.kept == ()
        assert selection.decisions == ()


@pytest.mark.parametrize("strategy", Strategy)
def test_one_candidate_can_be_kept(strategy):
    assert run(strategy, [Candidate("only", 1.0, 10)]).kept == ("only",)


@pytest.mark.parametrize("name", ["", "Adaptive", "mmr", "adaptive ", "top_n", None, 3])
def test_an_unknown_strategy_is_refused_and_never_falls_back(name):
    with pytest.raises(UnknownStrategyError, match="strategy must be one of slice, threshold, slice_threshold, "):
        select(name, Candidates.from_records(FIVE), DEFAULTS, embed(FIVE))
    with pytest.raises(UnknownStrategyError):
        parse_strategy(name)


def test_a_strategy_is_taken_by_name_or_member():
    assert parse_strategy("knee_threshold") is Strategy.KNEE_THRESHOLD
    assert parse_strategy(Strategy.SLICE) is Strategy.SLICE


@pytest.mark.parametrize("strategy", ["slice", "threshold", "slice_threshold", "knee_threshold"])
def test_only_adaptive_looks_at_vectors(strategy):
    stray = Embeddings({"nobody": [float("nan")]}, [0.0])
    assert select(strategy, Candidates.from_records(FIVE), DEFAULTS, stray).outcome == "ok"
    assert select(strategy, Candidates.from_records(FIVE), DEFAULTS).outcome == "ok"


def test_adaptive_fails_without_vectors():
    with pytest.raises(EmbeddingMisalignedError, match="strategy adaptive got no embeddings for 5 candidates"):
        select("adaptive", Candidates.from_records(FIVE), DEFAULTS)


@pytest.mark.parametrize("text", ["same", " "])
def test_adaptive_fails_on_a_missing_vector_even_of_a_duplicate_or_blank(text):
    records = [Candidate("a", 0.9, 10, "same"), Candidate("b", 0.8, 10, text)]
    with pytest.raises(EmbeddingMisalignedError, match="no embedding: 'b'"):
        select("adaptive", Candidates.from_records(records), DEFAULTS, Embeddings({"a": [1.0]}, [1.0]))


def test_adaptive_fails_on_one_candidate_without_a_query_vector():
    with pytest.raises(EmbeddingMisalignedError, match="the query has no embedding"):
        select("adaptive", Candidates.from_records(FIVE[:1]), DEFAULTS, Embeddings({"e": [1.0]}, None))


@pytest.mark.parametrize("strategy", Strategy)
def test_blank_texts_are_dropped_first_and_last_in_the_ledger(strategy):
    records = [Candidate("blank", 1.0, 1, " "), Candidate("a", 0.9, 10, "x"), Candidate("b", 0.9, 10, None)]
    selection = run(strategy, records, SelectionSettings(top_n=3, threshold=0.0))
    assert reasons(selection) == {"a": "selected", "b": "selected", "blank": "blank_text"}
    assert selection.decisions[-1].chunk_id == "blank"


@pytest.mark.parametrize("strategy", Strategy)
def test_only_blank_texts_are_an_empty_selection(strategy):
    selection = run(strategy, [Candidate("a", 0.9, 0, ""), Candidate("b", 1.0, 0, "\n")])
    assert selection.outcome == "empty"
    assert reasons(selection) == {"a": "blank_text", "b": "blank_text"}


def test_blank_texts_and_duplicates_do_not_move_the_mean_of_the_others():
    records = [Candidate("a", 0.9, 10, "x"), Candidate("b", 0.5, 10, "y")]
    more = [*records, Candidate("c", 0.9, 10, " X "), Candidate("d", 1.0, 10, "")]
    vectors = {record.chunk_id: vector for record, vector in zip(more, np.eye(4), strict=True)}
    query = np.ones(4)
    alone = select(
        "adaptive", Candidates.from_records(records), DEFAULTS, Embeddings({k: vectors[k] for k in "ab"}, query)
    )
    among = select("adaptive", Candidates.from_records(more), DEFAULTS, Embeddings(vectors, query))
    assert reasons(among) == {**reasons(alone), "c": "duplicate", "d": "blank_text"}
    assert {d.chunk_id: d.value for d in among.decisions} == {
        **{d.chunk_id: d.value for d in alone.decisions},
        "c": None,
        "d": None,
    }


def test_of_equal_texts_the_best_ranked_stays_and_the_others_keep_their_entries():
    records = [
        Candidate("late", 0.7, 10, "The seal is ZQ-77."),
        Candidate("best", 0.9, 10, "the  SEAL is ZQ-77."),
        Candidate("other", 0.8, 10, "The seal is ZQ-78."),
        Candidate("last", 0.6, 10, "The seal is\nZQ-77."),
    ]
    selection = run("adaptive", records, SelectionSettings(confusion_cost_weight=0.0))
    assert reasons(selection) == {
        "best": "selected",
        "other": "selected",
        "late": "duplicate",
        "last": "duplicate",
    }


@pytest.mark.parametrize("strategy", ["slice", "threshold", "slice_threshold", "knee_threshold"])
def test_the_simple_rules_keep_duplicates(strategy):
    records = [Candidate("a", 0.9, 10, "same"), Candidate("b", 0.9, 10, "same")]
    assert run(strategy, records).kept == ("a", "b")


@pytest.mark.parametrize("strategy", Strategy)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_order_of_the_input_changes_nothing(strategy, data):
    count = data.draw(st.integers(1, 9))
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    records = [
        Candidate(
            f"c{index}",
            float(rng.integers(0, 6) / 5),
            int(rng.integers(1, 400)),
            str(rng.choice(["one", "two", "Two ", " ", "three", "four"])),
            int(rng.integers(0, 3)),
        )
        for index in range(count)
    ]
    vectors = {record.chunk_id: rng.integers(1, 4, size=3).astype(float) for record in records}
    query = rng.normal(size=3)
    first = select(strategy, Candidates.from_records(records), DEFAULTS, Embeddings(vectors, query))
    for _ in range(2):
        shuffled = data.draw(st.permutations(records))
        vectors_shuffled = {name: vectors[name] for name in data.draw(st.permutations(sorted(vectors)))}
        again = select(strategy, Candidates.from_records(shuffled), DEFAULTS, Embeddings(vectors_shuffled, query))
        assert again.kept == first.kept
        assert again.decisions == first.decisions
    assert len(first.decisions) == count
    dropped = [d for d in first.decisions if d.fate is Fate.DROPPED]
    assert len(first.kept) + len(dropped) == count
    assert {d.chunk_id for d in first.decisions} == {record.chunk_id for record in records}


def test_a_large_selection_does_not_depend_on_the_order_of_the_input():
    rng = np.random.default_rng(7)
    records = [Candidate(f"c{i}", float(s), 150, None, i) for i, s in enumerate(rng.uniform(size=100))]
    matrix = rng.normal(size=(100, 256)).astype(np.float32)
    matrix[50:] += matrix[:50]
    vectors = {f"c{i}": matrix[i] for i in range(100)}
    loose = SelectionSettings(confusion_cost_weight=0.25, min_value_threshold=0.0)
    first = select("adaptive", Candidates.from_records(records), loose, Embeddings(vectors, matrix[3]))
    backwards = select("adaptive", Candidates.from_records(records[::-1]), loose, Embeddings(vectors, matrix[3]))
    assert 10 < len(first.kept) < 90
    assert first.decisions == backwards.decisions
