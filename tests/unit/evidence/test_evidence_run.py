"""Running a plan with a reader that needs no model: routes, sweeps, budget, resuming, the upper bound."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard_contracts.enums import ScoreKind, Strategy
from steelyard_evidence.errors import InputError, ResumeError, RunError, UnsupportedLengthError
from steelyard_evidence.manifest import FrozenQuery, ModelIdentity
from steelyard_evidence.measures.survival import Boundary
from steelyard_evidence.policy import Policy
from steelyard_evidence.run.applied import fitting
from steelyard_evidence.run.plan import Axis, Plan, Route
from steelyard_evidence.run.result import Run, read_run, write_run
from steelyard_evidence.run.runner import run_plan
from steelyard_reranker.pairs import PairSettings
from steelyard_reranker.selection import SelectionSettings
from steelyard_runtime.floors import CosineFloors
from tests.unit.evidence.samples import FACT, FakeReader, candidate, manifest, query, unit

SLICE = Policy(strategy=Strategy.SLICE, selection=SelectionSettings(top_n=2)).with_pairs(min_doc_tokens=16)
WIDE = SLICE.with_pairs(budget=200)
PLAN = Plan(current=SLICE, proposed=WIDE, limits=(40, 200), counts=(2, 5), grid=True, windows=True, oracle=True)


def carry_out(plan: Plan, folder: Path, reader: FakeReader | None = None, **changes: object) -> Run:
    frozen = manifest(**changes)  # type: ignore[arg-type]
    return run_plan(frozen, plan, reader or FakeReader(), folder / "run.unfinished", lambda *_: None)


@pytest.fixture
def finished(tmp_path: Path) -> Run:
    return carry_out(PLAN, tmp_path)


def held_at(run: Run, axis: Axis, label: str, boundary: Boundary) -> dict[str, float]:
    part = run.part(axis, label)
    assert part is not None
    return {one.unit_id: one.held[boundary] for one in part.records[0].units}


def test_parts_keep_their_axes_apart(finished: Run) -> None:
    assert [part.key for part in finished.parts] == [
        *("route:retrieved", "route:current", "route:proposed"),
        *("pair_length:40", "pair_length:200", "candidates:2", "candidates:5"),
        *("grid:40x2", "grid:40x5", "grid:200x2", "grid:200x5"),
        *("windows:max", "windows:capped", "oracle:upper bound"),
    ]
    assert [part.key for part in finished.parts if not part.promotable] == ["oracle:upper bound"]


def test_each_boundary_says_what_it_lost(finished: Run) -> None:
    """The manifest's pair limit of 100 cuts the fact at the end of the fifth candidate away, not the other one."""
    for boundary, there in (
        (Boundary.CANDIDATE, {"seal": 1.0, "torque": 1.0}),
        (Boundary.PAIR, {"seal": 1.0, "torque": 0.0}),
        (Boundary.SELECTED, {"seal": 1.0, "torque": 0.0}),
        (Boundary.CONTEXT, {"seal": 1.0, "torque": 0.0}),
    ):
        assert held_at(finished, Axis.ROUTE, Route.CURRENT, boundary) == there
        assert held_at(finished, Axis.ROUTE, Route.PROPOSED, boundary) == {"seal": 1.0, "torque": 1.0}


def test_half_of_the_evidence_is_partial(tmp_path: Path) -> None:
    before = "Inspect the pump. "
    cut = candidate("c1", before + FACT)
    asked = FrozenQuery(query_id="q", query="?", candidates=[cut], units=[unit("seal", cut)])
    half = SLICE.with_pairs(budget=len(before) + 9)
    run = carry_out(Plan(current=half, proposed=SLICE), tmp_path, queries=[asked])
    part = run.part(Axis.ROUTE, Route.CURRENT)
    assert part is not None
    count = part.pooled.boundaries[Boundary.PAIR]
    assert (count.units, count.full, count.partial, count.lost) == (1, 0, 1, 0)
    assert held_at(run, Axis.ROUTE, Route.CURRENT, Boundary.PAIR)["seal"] == pytest.approx(9 / len(FACT))


def test_every_route_has_the_same_budget(finished: Run) -> None:
    for part in finished.on(Axis.ROUTE):
        assert all(record.context_tokens <= 150 for record in part.records)
    retrieved = finished.part(Axis.ROUTE, Route.RETRIEVED)
    assert retrieved is not None
    assert [record.sent for record in retrieved.records] == [3, 3]
    assert held_at(finished, Axis.ROUTE, Route.RETRIEVED, Boundary.CONTEXT) == {"seal": 1.0, "torque": 0.0}


def test_positions_and_segments_have_their_denominators(finished: Run) -> None:
    part = finished.part(Axis.PAIR_LENGTH, "40")
    assert part is not None
    assert part.pooled.positions["beginning"][Boundary.PAIR].full == 2
    assert part.pooled.positions["end"][Boundary.PAIR].lost == 2
    assert part.pooled.positions["middle"][Boundary.PAIR].units == 0
    assert {name: one.queries for name, one in part.segments.items()} == {"all": 1, "identifiers": 1}


def test_fewer_candidates_lose_what_stands_below(finished: Run) -> None:
    assert held_at(finished, Axis.CANDIDATES, "2", Boundary.PAIR) == {"seal": 0.0, "torque": 0.0}
    assert held_at(finished, Axis.CANDIDATES, "2", Boundary.CANDIDATE) == {"seal": 1.0, "torque": 1.0}


def test_the_upper_bound_sees_what_the_policy_can_not(finished: Run) -> None:
    assert held_at(finished, Axis.ORACLE, "upper bound", Boundary.PAIR) == {"seal": 1.0, "torque": 1.0}
    assert held_at(finished, Axis.ROUTE, Route.CURRENT, Boundary.PAIR)["torque"] == 0.0


def test_the_upper_bound_cuts_no_text_that_is_read_whole(tmp_path: Path) -> None:
    """With a model that scores less text lower, it would be below what it is the bound of."""
    run = carry_out(
        Plan(current=WIDE, proposed=WIDE, oracle=True), tmp_path, FakeReader(judge=lambda read: len(read) / 1000)
    )
    bound, current = run.part(Axis.ORACLE, "upper bound"), run.part(Axis.ROUTE, Route.CURRENT)
    assert bound is not None
    assert current is not None
    assert [record.units for record in bound.records] == [record.units for record in current.records]


def test_what_is_read_alike_is_read_once(tmp_path: Path) -> None:
    reader = FakeReader()
    carry_out(Plan(current=SLICE, proposed=SLICE, limits=(100,), counts=(5,)), tmp_path, reader)
    assert reader.asked == [("Question 1?", 5, 100), ("Question 1?", 5, 100), ("Question 2?", 5, 100)]


def test_latency_counts_warm_reading_only(finished: Run) -> None:
    part = finished.part(Axis.ROUTE, Route.CURRENT)
    assert part is not None
    assert part.pooled.latency is not None
    assert part.pooled.latency.p95 == pytest.approx(0.01)
    assert part.pooled.latency.padding_waste == pytest.approx(0.2)
    assert finished.first_read_seconds == pytest.approx(0.01)
    retrieved = finished.part(Axis.ROUTE, Route.RETRIEVED)
    assert retrieved is not None
    assert retrieved.pooled.latency is None


class _InterruptedError(Exception):
    pass


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    plan = Plan(current=SLICE, proposed=WIDE, limits=(40,))
    whole = carry_out(plan, tmp_path / "whole")
    journal = tmp_path / "run.unfinished"

    def stop(_what: str, done: int, _of: int) -> None:
        if done == 5:
            raise _InterruptedError

    with pytest.raises(_InterruptedError):
        run_plan(manifest(), plan, FakeReader(), journal, stop)
    with journal.open("ab") as stream:
        stream.write(b'{"part": "cut off by a cra')
    reader = FakeReader()
    resumed = run_plan(manifest(), plan, reader, journal, lambda *_: None)
    assert resumed.parts == whole.parts
    assert [budget for _, _, budget in reader.asked] == [200, 200, 40, 40]  # the first one twice: cold, then warm


def test_a_journal_of_something_else_is_not_gone_on_with(tmp_path: Path) -> None:
    journal = tmp_path / "run.unfinished"
    plan = Plan(current=SLICE, proposed=WIDE)
    run_plan(manifest(), plan, FakeReader(), journal, lambda *_: None)
    with pytest.raises(ResumeError, match="another manifest, plan or model"):
        run_plan(manifest(context_budget=99), plan, FakeReader(), journal, lambda *_: None)
    with pytest.raises(ResumeError, match="another manifest, plan or model"):
        run_plan(manifest(), replace(plan, limits=(41,)), FakeReader(), journal, lambda *_: None)
    journal.write_text("nonsense\n")
    with pytest.raises(ResumeError, match="is not an unfinished run"):
        run_plan(manifest(), plan, FakeReader(), journal, lambda *_: None)


def test_another_reranker_than_the_manifests_is_refused(tmp_path: Path) -> None:
    reader = FakeReader(identity=ModelIdentity(name="other", sha256="0" * 64))
    with pytest.raises(RunError, match="frozen for reranker fake"):
        carry_out(PLAN, tmp_path, reader)


def test_adaptive_uses_the_frozen_vectors_and_misses_them_loudly(tmp_path: Path) -> None:
    run = carry_out(Plan(current=Policy(), proposed=Policy()), tmp_path)
    assert held_at(run, Axis.ROUTE, Route.CURRENT, Boundary.CONTEXT)["seal"] == 1.0
    bare = query(1).model_copy(update={"embedding": None})
    with pytest.raises(RunError, match="query 'q1': the query has no embedding"):
        carry_out(Plan(current=Policy(), proposed=Policy()), tmp_path / "bare", queries=[bare])


def test_copies_of_one_fact_count_once_in_ndcg(tmp_path: Path) -> None:
    copies = [candidate(f"c{rank}", f"{FACT} Copy {rank}.", axis=rank) for rank in range(1, 4)]
    repeated = FrozenQuery(query_id="q", query="?", candidates=copies, units=[unit("seal", *copies)])
    run = carry_out(Plan(current=SLICE, proposed=SLICE), tmp_path, queries=[repeated])
    part = run.part(Axis.ROUTE, Route.CURRENT)
    assert part is not None
    assert part.pooled.ndcg.mean == 1.0
    assert part.pooled.boundaries[Boundary.CONTEXT].units == 1


@pytest.mark.parametrize("held", [True, False])
def test_evidence_that_was_not_looked_at_or_not_retrieved_costs_ndcg(held: bool, tmp_path: Path) -> None:
    candidates = [candidate("c1", f"{FACT} One."), candidate("c2", "Torque is 24 Nm.")]
    torque = unit("torque", *candidates[1:] if held else [], fact="Torque is 24 Nm.")
    asked = FrozenQuery(query_id="q", query="?", candidates=candidates, units=[unit("seal", candidates[0]), torque])
    run = carry_out(Plan(current=SLICE, proposed=SLICE, counts=(1, 2)), tmp_path, queries=[asked])
    one, both = run.on(Axis.CANDIDATES)
    alone = 1 / (1 + 1 / math.log2(3))
    assert one.pooled.ndcg.mean == pytest.approx(alone)
    assert both.pooled.ndcg.mean == pytest.approx(1.0 if held else alone)


@pytest.mark.parametrize("floors", [CosineFloors(each=0.5), CosineFloors(best=0.8)])
def test_cosine_floors_drop_candidates_before_they_are_read(floors: CosineFloors, tmp_path: Path) -> None:
    above = candidate("c1", f"{FACT} One.").model_copy(update={"scores": {ScoreKind.COSINE: 0.7}})
    below = candidate("c2", "Torque is 24 Nm.").model_copy(update={"scores": {ScoreKind.COSINE: 0.4}})
    units = [unit("seal", above), unit("torque", below, fact="Torque is 24 Nm.")]
    asked = FrozenQuery(query_id="q", query="?", candidates=[above, below], units=units)
    proposed = replace(SLICE, floors=floors)
    run = carry_out(Plan(current=SLICE, proposed=proposed), tmp_path, queries=[asked])
    assert held_at(run, Axis.ROUTE, Route.CURRENT, Boundary.CONTEXT) == {"seal": 1.0, "torque": 1.0}
    seal = 1.0 if floors.best is None else 0.0
    for boundary in (Boundary.PAIR, Boundary.CONTEXT):
        assert held_at(run, Axis.ROUTE, Route.PROPOSED, boundary) == {"seal": seal, "torque": 0.0}


def test_a_length_that_no_part_could_read_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    reader = FakeReader()
    asked = query(1).model_copy(update={"query": "x" * 90})
    with pytest.raises(UnsupportedLengthError, match="query 'q1': the query has 90 tokens, which leaves 10"):
        carry_out(PLAN, tmp_path, reader, queries=[query(0), asked])
    with pytest.raises(UnsupportedLengthError, match="2000"):
        carry_out(replace(PLAN, limits=(2000,)), tmp_path, reader)
    assert reader.asked == []
    assert not list(tmp_path.iterdir())


def test_what_does_not_fit_goes_least_valuable_first() -> None:
    tokens = {"a": 60, "b": 60, "c": 60}
    assert fitting(("a", "b", "c"), tokens, {}, 130) == ("a", "b")
    assert fitting(("a", "b", "c"), tokens, {"a": 1.0, "b": -1.0, "c": 0.5}, 130) == ("a", "c")
    assert fitting(("a",), tokens, {}, 59) == ()


def test_a_finished_run_is_read_back_and_another_file_is_not(tmp_path: Path, finished: Run) -> None:
    path = tmp_path / "run.json"
    write_run(finished, path)
    assert read_run(path) == finished
    path.write_text("{}")
    with pytest.raises(InputError, match="is no finished run"):
        read_run(path)


def test_an_unread_candidate_is_never_kept(tmp_path: Path) -> None:
    reader = FakeReader()
    original = reader.read

    def read(asked: str, candidates: object, pairs: PairSettings) -> object:
        found = original(asked, candidates, pairs)  # type: ignore[arg-type]
        unread = found.readings[2]._replace(score=None, kept_spans=())
        return replace(found, readings=(*found.readings[:2], unread, *found.readings[3:]))

    reader.read = read  # type: ignore[method-assign,assignment]
    run = carry_out(Plan(current=SLICE, proposed=SLICE), tmp_path, reader)
    assert held_at(run, Axis.ROUTE, Route.CURRENT, Boundary.PAIR)["seal"] == 0.0
    assert held_at(run, Axis.ROUTE, Route.CURRENT, Boundary.CONTEXT)["seal"] == 0.0
