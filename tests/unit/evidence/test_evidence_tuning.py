"""Choosing settings: the reranker's own rule, the cheapest that reaches a recall, calibration and its warnings."""

import numpy as np
import pytest

from steelyard_contracts.enums import ScoreKind
from steelyard_contracts.vectors import Vector
from steelyard_evidence.calibrating import calibrate, gold_of
from steelyard_evidence.errors import RunError
from steelyard_evidence.manifest import FrozenQuery, Place, Unit
from steelyard_evidence.policy import Policy
from steelyard_evidence.tuning import grid as grid_module
from steelyard_evidence.tuning.case import Case, make_case
from steelyard_evidence.tuning.gold import Gold
from steelyard_evidence.tuning.grid import adaptive_outcomes, grid, kept_rows
from steelyard_evidence.tuning.outcome import Outcomes, joined
from steelyard_evidence.tuning.slices import slice_outcomes
from steelyard_reranker.selection import Candidate, Candidates, Embeddings, SelectionSettings, select
from steelyard_runtime.floors import CosineFloors
from tests.unit.evidence.samples import IDENTITY, FakeReader, candidate, manifest, unit


def case_of(seed: int, count: int = 12) -> tuple[Case, Candidates, Embeddings]:
    """A random case and the same candidates in the form that `select` takes."""
    rng = np.random.default_rng(seed)
    texts = [f"text {index}" for index in range(count)]
    texts[5] = texts[2].upper()
    scores, tokens = rng.uniform(size=count), rng.integers(40, 200, count)
    vectors = rng.normal(size=(count, 8)).astype(np.float32)
    query = rng.normal(size=8).astype(np.float32)
    gold = Gold(rng.uniform(size=(count, 3)) > 0.6, np.full(3, 1 / 3))
    ids = [f"{rank:06d}" for rank in range(count)]
    rows = map(Candidate, ids, scores.tolist(), tokens.tolist(), texts, range(count))
    made = make_case(seed, texts, scores, tokens, vectors, query, gold)
    return made, Candidates.from_records(rows), Embeddings(dict(zip(ids, vectors, strict=True)), query)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_kept_is_what_the_service_would_keep(seed: int) -> None:
    case, candidates, embeddings = case_of(seed)
    order = [candidates.chunk_ids[row] for row in candidates.canonical_order()[0]]
    for settings in [SelectionSettings(), *grid()[:: len(grid()) // 20]]:
        ours = [order[row] for row in kept_rows(case, settings)]
        assert ours == list(select("adaptive", candidates, settings, embeddings).kept)


def test_processes_change_nothing() -> None:
    cases = [case_of(seed)[0] for seed in range(10)]
    settings = grid()[:5]
    alone = adaptive_outcomes(cases, settings)
    shared = adaptive_outcomes(cases, settings, workers=2)
    assert np.array_equal(alone.recall, shared.recall)
    assert np.array_equal(alone.tokens, shared.tokens)
    assert np.array_equal(alone.numbers, np.arange(10))


def test_evidence_that_is_kept_twice_counts_once() -> None:
    gold = Gold(np.array([[True, False], [True, False], [False, True]]), np.array([0.75, 0.25]))
    assert gold.recall([0, 1]) == 0.75
    assert gold.recall([0, 2]) == 1.0
    assert gold.recall([]) == 0.0
    assert gold.ceiling == 1.0


def outcomes(recall: list[list[float]], tokens: list[list[float]]) -> Outcomes:
    names = tuple(f"s{row}" for row in range(len(recall)))
    return Outcomes(names, np.arange(len(recall[0])), np.array(recall), np.array(tokens))


def test_the_cheapest_reaches_the_recall_with_the_fewest_tokens() -> None:
    found = outcomes([[0.5, 0.5], [1.0, 0.8], [1.0, 0.8], [1.0, 1.0]], [[10, 10], [90, 70], [60, 80], [200, 100]])
    assert found.cheapest(0.4) == 0
    assert found.cheapest(0.9) == 2
    assert found.cheapest(0.95) == 3
    assert found.cheapest(1.1) is None
    assert found.frontier() == [0, 2, 3]


def test_even_and_odd_questions_are_apart() -> None:
    found = outcomes([[0.0, 1.0, 0.0, 1.0]], [[1, 2, 3, 4]])
    assert found.even.recall.tolist() == [[0.0, 0.0]]
    assert found.odd.tokens.tolist() == [[2, 4]]
    assert joined([found.even, found.odd]).tokens.tolist() == [[1, 3, 2, 4]]
    with pytest.raises(ValueError, match="different settings"):
        joined([found, Outcomes(("other",), found.numbers, found.recall, found.tokens)])


def test_slices_stop_at_the_end_of_a_short_case() -> None:
    long, short = case_of(0)[0], case_of(1, count=6)[0]
    found = slice_outcomes([long, short])
    assert found.tokens[-1].tolist() == [long.tokens.sum(), short.tokens.sum()]
    assert found.recall[-1].tolist() == [long.gold.ceiling, short.gold.ceiling]


def test_units_in_pieces_have_the_same_weight_each() -> None:
    one, two = candidate("a", "x" * 50), candidate("b", "y" * 50)
    halves = Unit(
        unit_id="u",
        length=40,
        places=[
            Place(candidate_id="a", start=0, end=30, unit_start=0, unit_end=30),
            Place(candidate_id="b", start=0, end=20, unit_start=20, unit_end=40),
        ],
    )
    nowhere = Unit(unit_id="v", length=10)
    gold = gold_of([halves, nowhere], [one, two])
    assert gold.recall([0]) == pytest.approx(0.375)
    assert gold.recall([1]) == pytest.approx(0.25)
    assert gold.ceiling == pytest.approx(0.5)
    assert gold.weights.sum() == pytest.approx(1.0)


def question(number: int, *, copies: int = 3) -> FrozenQuery:
    """The fact in the first candidate and in near-copies of it, then another fact, then noise."""
    fact, other = "The seal is ZQ-77.", "Torque is 24 Nm."
    texts = [f"{fact} Copy {rank}." for rank in range(copies)] + [f"{other} Once."] + ["Noise."] * 4
    axes = [0] * copies + [1] + [2, 3, 4, 5]
    made = [
        candidate(f"c{rank}", f"{text} {rank}", axis=axis)
        for rank, (text, axis) in enumerate(zip(texts, axes, strict=True))
    ]
    return FrozenQuery(
        query_id=f"q{number}",
        query="?",
        embedding=Vector.from_floats([1.0] * 8),
        candidates=made,
        units=[unit("seal", *made[:copies]), unit("torque", made[copies], fact=other)],
    )


@pytest.fixture
def few_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole curve of one profile and of the published one: all of them would take a minute here."""
    monkeypatch.setattr(grid_module, "TOKEN_ALPHAS", (0.0,))
    monkeypatch.setattr(grid_module, "MIDPOINTS", (0.25,))
    monkeypatch.setattr(grid_module, "CONFUSION_WEIGHTS", (0.0, 1.0))


@pytest.mark.usefixtures("few_settings")
def test_calibration_finds_what_drops_the_copies() -> None:
    frozen = manifest([question(number) for number in range(70)])
    found = calibrate(frozen, FakeReader(), Policy(), 0.99, lambda *_: None)
    assert found.settings is not None
    assert (found.chosen_on, found.tested_on) == (35, 35)
    assert found.proposed is not None
    assert found.proposed.recall.mean == 1.0
    assert found.proposed.tokens.mean == 100
    assert found.slice is not None
    assert found.slice.tokens.mean == 200
    assert found.warnings == ()
    assert set(found.environment()) == {
        *("MIN_VALUE_THRESHOLD", "CONFUSION_COST_WEIGHT", "TOKEN_COST_ALPHA", "NOVELTY_SIGMOID_B")
    }


@pytest.mark.usefixtures("few_settings")
def test_calibration_says_what_the_data_can_not_support() -> None:
    few = calibrate(manifest([question(number) for number in range(40)]), FakeReader(), Policy(), 0.99, lambda *_: None)
    assert few.settings is not None
    assert any("20 queries; below 30" in warning for warning in few.warnings)

    absent = [question(number) for number in range(6)]
    for one in absent:
        one.units.append(Unit(unit_id="lost", length=10))
    out_of_reach = calibrate(manifest(absent), FakeReader(), Policy(), 0.9, lambda *_: None)
    assert out_of_reach.settings is None
    assert any("retrieval, not selection, misses 0.9" in warning for warning in out_of_reach.warnings)
    assert out_of_reach.as_json()["settings"] is None

    unlike = [question(number) for number in range(60)]
    unlike[1].units.append(Unit(unit_id="lost", length=10))
    unproven = calibrate(manifest(unlike), FakeReader(), Policy(), 0.99, lambda *_: None)
    assert any("the data does not prove 0.99" in warning for warning in unproven.warnings)

    plain = calibrate(
        manifest([question(number, copies=1) for number in range(60)]), FakeReader(), Policy(), 0.99, lambda *_: None
    )
    assert any("a slice of the top 2 is not shown to need more tokens" in warning for warning in plain.warnings)


@pytest.mark.usefixtures("few_settings")
def test_a_saving_that_the_other_questions_do_not_show_is_called_so() -> None:
    """Only the questions that are chosen on have copies, which the settings as they are keep."""
    queries = [question(number, copies=3 if number % 2 == 0 else 1) for number in range(60)]
    keeping = SelectionSettings(confusion_cost_weight=0.0, token_cost_alpha=0.0, min_value_threshold=-0.1)
    found = calibrate(manifest(queries), FakeReader(), Policy(selection=keeping), 0.99, lambda *_: None)
    assert found.settings is not None
    assert any("the settings as they are reached it too" in warning for warning in found.warnings), found


@pytest.mark.usefixtures("few_settings")
def test_calibration_looks_at_what_the_policy_looks_at() -> None:
    frozen = manifest([question(number) for number in range(30)])
    found = calibrate(frozen, FakeReader(), Policy(candidates=1), 0.5, lambda *_: None)
    assert found.ceiling == 0.5
    low = [question(number) for number in range(30)]
    for query in low:
        for one in query.candidates:
            one.scores[ScoreKind.COSINE] = 0.1 if query is low[0] else 0.4
    some = calibrate(manifest(low), FakeReader(), Policy(floors=CosineFloors(each=0.3)), 0.5, lambda *_: None)
    assert some.ceiling == pytest.approx(14 / 15)
    with pytest.raises(RunError, match="no query has a candidate that is above the cosine floors"):
        calibrate(manifest(low), FakeReader(), Policy(floors=CosineFloors(best=0.5)), 0.5, lambda *_: None)


def nothing_relevant(number: int) -> FrozenQuery:
    """Evidence that no candidate holds."""
    return question(number).model_copy(update={"units": [Unit(unit_id="lost", length=10)]})


def chosen_by_chance(number: int) -> FrozenQuery:
    """On even queries the first candidate holds all of the evidence, on odd ones the worst of them does."""
    made = question(number, copies=1)
    held = made.candidates[0 if number % 2 == 0 else -1]
    return made.model_copy(update={"units": [unit("only", held, fact=held.text)]})


@pytest.mark.parametrize(
    ("queries", "reader", "wanted", "said"),
    [
        ([question(number) for number in range(5)], FakeReader(), 0.5, "there are 3 queries to choose on"),
        ([nothing_relevant(number) for number in range(30)], FakeReader(), 0.5, "hold 0.000 of the evidence"),
        ([question(number) for number in range(30)], FakeReader(judge=lambda _: 0.5), 0.5, "alike in 30 of 30"),
        ([chosen_by_chance(number) for number in range(40)], FakeReader(), 0.9, "it does not reach 0.9"),
    ],
    ids=["five", "irrelevant", "ties", "contradicted"],
)
@pytest.mark.usefixtures("few_settings")
def test_data_that_supports_no_choice_gets_none(
    queries: list[FrozenQuery], reader: FakeReader, wanted: float, said: str
) -> None:
    found = calibrate(manifest(queries), reader, Policy(), wanted, lambda *_: None)
    assert (found.settings, found.proposed, found.environment()) == (None, None, {})
    assert any(said in warning for warning in found.warnings), found.warnings
    assert found.current.recall.n == len(queries) // 2


def test_calibration_refuses_another_reranker_than_the_manifests() -> None:
    other = FakeReader(identity=IDENTITY.model_copy(update={"sha256": "0" * 64}))
    with pytest.raises(RunError, match="was frozen for reranker fake"):
        calibrate(manifest([question(0), question(1)]), other, Policy(), 0.9, lambda *_: None)


def test_calibration_needs_evidence_and_vectors() -> None:
    with pytest.raises(RunError, match="1 queries with evidence"):
        calibrate(manifest([question(0)]), FakeReader(), Policy(), 0.9, lambda *_: None)
    bare = [question(number).model_copy(update={"embedding": None}) for number in range(2)]
    with pytest.raises(RunError, match="query 'q0': the manifest has no vectors"):
        calibrate(manifest(bare), FakeReader(), Policy(), 0.9, lambda *_: None)
