"""`adaptive` against a transcription of the published formula in plain Python floats and loops."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from steelyard_contracts.enums import Fate, Reason
from steelyard_reranker.selection import Candidate, Candidates, Embeddings, SelectionSettings, select

# What float32 products may move a cosine by.
COSINE_ERROR = 4e-6


def cosine(left, right):
    dot = sum(x * y for x, y in zip(left, right, strict=True))
    return dot / math.sqrt(sum(x * x for x in left)) / math.sqrt(sum(y * y for y in right))


def logistic(x):
    try:
        return 1.0 / (1.0 + math.exp(-x))
    except OverflowError:
        return 0.0


class Transcription:
    """The formula as it is written, and whether float32 could have decided any step of it differently."""

    def __init__(self, scores, tokens, vectors, query, settings):
        self.novelties, self.values, self.kept, self.delicate = [], [], [], False
        n = len(scores)
        mean = sum(scores) / n
        ordered = sorted(scores)
        median = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
        skew = (mean - median) / mean if mean != 0 else 0.0
        spread = scores[0] - mean
        for i in range(n):
            relevance = scores[i] + (scores[i] - mean * (1 + math.tanh(skew)))
            novelty = self.novelty(i, vectors, query)
            weight = logistic(settings.novelty_sigmoid_a * (novelty - settings.novelty_sigmoid_b))
            gap = 0.0 if spread < 1e-6 else (scores[0] - scores[i]) / max(spread, 1e-6)
            confusion = (1 - scores[i]) + gap
            cost = settings.token_cost_alpha * tokens[i] + settings.confusion_cost_weight * confusion
            value = relevance * weight - cost
            steepest = abs(relevance) * settings.novelty_sigmoid_a / 4  # of the value, over the novelty
            if abs(value - settings.min_value_threshold) < steepest * 3 * COSINE_ERROR + 1e-9:
                self.delicate = True
            if value > settings.min_value_threshold:
                self.kept.append(i)
            self.novelties.append(novelty)
            self.values.append(value)

    def novelty(self, i, vectors, query):
        if not self.kept:
            return 1.0
        similarities = {j: cosine(vectors[i], vectors[j]) for j in self.kept}

        def beside(j):
            gap = abs(cosine(vectors[i], query) - cosine(vectors[j], query))
            return min(1.0, max(0.0, 1 - similarities[j] * (1 - gap)))

        nearest = self.kept[0]
        for j in self.kept[1:]:
            if similarities[j] > similarities[nearest]:
                nearest = j
        for j in self.kept:
            tied = similarities[j] > similarities[nearest] - COSINE_ERROR
            if tied and abs(beside(j) - beside(nearest)) > COSINE_ERROR:
                self.delicate = True
        return beside(nearest)


def random_vectors(rng, count, dimensions):
    kind = rng.integers(4)
    if kind == 0:
        vectors = rng.normal(size=(count, dimensions))
    elif kind == 1:  # a lattice: exact ties, opposite and parallel vectors
        vectors = rng.integers(-2, 3, size=(count, dimensions)).astype(float)
        vectors[~vectors.any(axis=1), 0] = 1.0
    elif kind == 2:  # clusters of near-duplicates
        vectors = rng.normal(size=(2, dimensions))[rng.integers(2, size=count)] + rng.normal(
            scale=0.05, size=(count, dimensions)
        )
    else:  # copies
        vectors = rng.normal(size=(3, dimensions))[rng.integers(3, size=count)]
    return vectors.tolist()


def random_scores(rng, count):
    kind = rng.integers(4)
    if kind == 0:
        scores = rng.uniform(size=count)
    elif kind == 1:  # ties, ends of the scale
        scores = rng.integers(0, 5, size=count) / 4
    elif kind == 2:  # nearly flat
        scores = 0.5 + rng.uniform(-1e-6, 1e-6, size=count)
    else:  # a few good ones among noise
        scores = np.where(rng.uniform(size=count) < 0.3, rng.uniform(0.6, 1.0, count), rng.uniform(0.0, 0.02, count))
    return np.sort(scores)[::-1].tolist()


def random_settings(rng):
    if rng.uniform() < 0.4:
        return SelectionSettings(adaptive_floor_score=None)
    return SelectionSettings(
        novelty_sigmoid_a=float(rng.choice([0.0, 5.0, 20.0, 60.0])),
        novelty_sigmoid_b=float(rng.choice([0.0, 0.25, 0.6])),
        token_cost_alpha=float(rng.choice([0.0, 0.0005, 0.0025])),
        min_value_threshold=float(rng.choice([-1.0, -0.1, 0.0, 0.1])),
        confusion_cost_weight=float(rng.choice([0.0, 0.25, 1.0])),
        adaptive_floor_score=None,
    )


@pytest.mark.parametrize("seed", range(4))
def test_decides_as_the_formula_does(seed):
    rng = np.random.default_rng(seed)
    cases, compared, partly_kept = 750, 0, 0
    for _ in range(cases):
        count, dimensions = int(rng.integers(1, 11)), int(rng.integers(1, 9))
        vectors = random_vectors(rng, count, dimensions)
        query = random_vectors(rng, 1, dimensions)[0]
        scores, settings = random_scores(rng, count), random_settings(rng)
        tokens = rng.integers(0, 600, size=count).tolist()
        expected = Transcription(scores, tokens, vectors, query, settings)
        if expected.delicate:
            continue
        candidates = Candidates.from_records(
            Candidate(f"{index:02}", scores[index], tokens[index], retrieval_rank=index) for index in range(count)
        )
        embeddings = Embeddings({f"{index:02}": vectors[index] for index in range(count)}, query)
        decisions = select("adaptive", candidates, settings, embeddings).decisions

        compared += 1
        partly_kept += 0 < len(expected.kept) < count
        assert [int(d.chunk_id) for d in decisions if d.fate is Fate.SENT] == expected.kept
        assert [d.value.novelty for d in decisions] == pytest.approx(expected.novelties, abs=3 * COSINE_ERROR)
        slack = 6 * COSINE_ERROR * max(1.0, settings.novelty_sigmoid_a)
        assert [d.value.value for d in decisions] == pytest.approx(expected.values, abs=slack)
    assert compared > 0.9 * cases
    assert partly_kept > 0.2 * cases


@pytest.mark.parametrize("seed", range(3))
def test_every_decision_follows_from_its_own_ledger_numbers(seed):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(60, 384)).astype(np.float32)
    vectors[30:] = vectors[:30] + rng.normal(scale=0.3, size=(30, 384))
    candidates = Candidates.from_records(
        Candidate(f"c{index}", float(score), int(rng.integers(20, 400)), retrieval_rank=index)
        for index, score in enumerate(rng.uniform(size=60))
    )
    embeddings = Embeddings({f"c{index}": vectors[index] for index in range(60)}, vectors.mean(axis=0))
    settings = SelectionSettings(confusion_cost_weight=0.25, min_value_threshold=-0.1)
    selection = select("adaptive", candidates, settings, embeddings)
    assert 5 < len(selection.kept) < 55
    for decision in selection.decisions:
        terms = decision.value
        assert all(math.isfinite(number) for number in terms)
        assert 0.0 <= terms.novelty <= 1.0
        assert terms.utility == terms.relevance * terms.novelty_weight
        assert terms.token_cost == 0.0025 * terms.token_count
        assert terms.cost == terms.token_cost + 0.25 * terms.confusion_cost
        assert terms.value == terms.utility - terms.cost
        assert (decision.fate is Fate.SENT) == (terms.value > -0.1)
        assert decision.reason == (Reason.SELECTED if terms.value > -0.1 else Reason.VALUE_BELOW_THRESHOLD)


def two_then(third, query):
    """Weigh `third` after two chunks that are surely kept; return its terms."""
    chunks = {"a": [0.8, 0.0, 0.6], "b": [0.7, math.sqrt(1 - 0.49), 0.0], "c": third}
    candidates = Candidates.from_records([Candidate("a", 0.9, 10), Candidate("b", 0.8, 10), Candidate("c", 0.7, 10)])
    selection = select("adaptive", candidates, SelectionSettings(min_value_threshold=-9.0), Embeddings(chunks, query))
    assert selection.kept == ("a", "b", "c")
    return selection.decisions[2].value


def test_the_nearest_chunk_is_the_one_of_greatest_plain_cosine():
    # c = (1, 0, 0) and q = (0, 0, 1): cos(c, a) = .8 with |cos(c, q) - cos(a, q)| = |0 - .6|, damped to .8 * .4 = .32;
    # cos(c, b) = .7 with no gap stays .7. a is nearer by plain cosine, so the novelty is 1 - .32 and not 1 - .7.
    assert two_then([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]).novelty == pytest.approx(0.68, abs=1e-6)


def test_opposite_vectors_are_wholly_new():
    # cosines -.8 and -.7, gap |0 - .714|: 1 + .7 * .286, clamped
    assert two_then([-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).novelty == 1.0


def test_a_query_gap_above_one_turns_a_negative_cosine_round_as_the_formula_says():
    # nearest is b with -.7; gap |-1 - .7| = 1.7, so 1 - (-.7) * (1 - 1.7) = .51
    assert two_then([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]).novelty == pytest.approx(0.51, abs=1e-6)


def test_a_large_query_gap_cannot_push_the_novelty_above_one():
    # directions in degrees: a 80, b 0, q -50: cos(a, b) = .174, gap |-.643 - .643| = 1.286, 1 + .174 * .286 = 1.05
    chunks = {"a": [math.cos(math.radians(80)), math.sin(math.radians(80))], "b": [1.0, 0.0]}
    query = [math.cos(math.radians(-50)), math.sin(math.radians(-50))]
    candidates = Candidates.from_records([Candidate("a", 0.9, 10), Candidate("b", 0.8, 10)])
    selection = select("adaptive", candidates, SelectionSettings(), Embeddings(chunks, query))
    assert selection.decisions[0].reason is Reason.SELECTED
    assert selection.decisions[1].value.novelty == 1.0


def test_equal_cosines_take_the_best_ranked_chunk():
    # c is as near to a as to b; only a's distance to the query differs from c's own
    chunks = {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0], "c": [1.0, 1.0, 0.0]}
    query = [1.0, 0.0, 0.0]  # cosines 1, 0 and .7071
    candidates = Candidates.from_records([Candidate("a", 0.9, 1), Candidate("b", 0.8, 1), Candidate("c", 0.7, 1)])
    settings = SelectionSettings(min_value_threshold=-9.0)
    first_a = select("adaptive", candidates, settings, Embeddings(chunks, query)).decisions[2].value
    # beside a: .7071 * (1 - .2929) = .5; beside b: .7071 * (1 - .7071) = .2071
    assert first_a.novelty == pytest.approx(0.5, abs=1e-6)
    swapped = replace(candidates, scores=np.array([0.8, 0.9, 0.7]))
    first_b = select("adaptive", swapped, settings, Embeddings(chunks, query)).decisions[2].value
    assert first_b.novelty == pytest.approx(1 - 0.2071, abs=1e-4)


def test_a_dropped_chunk_does_not_make_the_next_one_less_new():
    chunks = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.0, 1.0]}
    candidates = Candidates.from_records([Candidate("a", 0.9, 10), Candidate("b", 0.8, 5000), Candidate("c", 0.8, 10)])
    decisions = select("adaptive", candidates, SelectionSettings(), Embeddings(chunks, [1.0, 1.0])).decisions
    assert [d.reason for d in decisions] == [Reason.SELECTED, Reason.VALUE_BELOW_THRESHOLD, Reason.SELECTED]
    assert decisions[2].value.novelty == 1.0


def test_a_value_that_equals_the_threshold_is_dropped():
    # steepness 0: every weight is .5; no costs: value = relevance / 2 = .5 for a single score of 1
    free = {
        "novelty_sigmoid_a": 0.0,
        "token_cost_alpha": 0.0,
        "confusion_cost_weight": 0.0,
        "adaptive_floor_score": None,
    }
    candidates = Candidates.from_records([Candidate("a", 1.0, 10)])
    at = select("adaptive", candidates, SelectionSettings(min_value_threshold=0.5, **free), Embeddings({"a": [1]}, [1]))
    assert at.decisions[0].value.value == 0.5
    assert at.kept == ()
    just_below = SelectionSettings(min_value_threshold=math.nextafter(0.5, 0.0), **free)
    assert select("adaptive", candidates, just_below, Embeddings({"a": [1]}, [1])).kept == ("a",)


def test_copies_have_no_novelty_however_their_cosine_is_rounded():
    vectors = np.repeat(np.random.default_rng(3).normal(size=(40, 384)), 2, axis=0)
    candidates = Candidates.from_records(Candidate(f"{index:02}", 0.9, 10) for index in range(80))
    embeddings = Embeddings({f"{index:02}": vectors[index] for index in range(80)}, vectors[0])
    decisions = select("adaptive", candidates, SelectionSettings(min_value_threshold=-9.0), embeddings).decisions
    assert all(0.0 <= decision.value.novelty < 1e-6 for decision in decisions[1::2])
    assert all(decision.value.novelty > 0.5 for decision in decisions[::2])


def test_a_higher_confusion_weight_never_adds_a_chunk_of_orthogonal_ones():
    scores = [0.9, 0.8, 0.7, 0.5, 0.3, 0.1]
    candidates = Candidates.from_records(Candidate(str(i), score, 100) for i, score in enumerate(scores))
    embeddings = Embeddings({str(i): np.eye(6)[i] for i in range(6)}, np.ones(6))
    counts = [
        len(select("adaptive", candidates, SelectionSettings(confusion_cost_weight=w), embeddings).kept)
        for w in (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
    ]
    assert counts[0] == 6
    assert counts[-1] < 3
    assert all(more >= fewer for more, fewer in pairwise(counts))
