"""Every gate passes on a sound release and turns red on a regression that is planted for it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard_contracts.enums import PairPolicy, Strategy, WindowAggregation
from steelyard_evidence.errors import GatesError, PromotionError, RunError
from steelyard_evidence.gates import identity
from steelyard_evidence.gates.configuration import previous_of, promote, rollback
from steelyard_evidence.gates.fixtures import NAMES
from steelyard_evidence.gates.promotion import promotable
from steelyard_evidence.gates.replay import replay
from steelyard_evidence.gates.segments import compare
from steelyard_evidence.gates.thresholds import Gates, read_gates
from steelyard_evidence.gates.verdict import Verdict
from steelyard_evidence.policy import Policy
from steelyard_evidence.run.plan import Axis, Plan, Route
from steelyard_evidence.run.result import Run
from steelyard_evidence.run.runner import run_plan
from steelyard_evidence.survival import PairEncoder
from steelyard_models.tokenizer import TextTokenizer
from steelyard_reranker.pairs import CrossEncoderFormat, PairFormat, PairSettings
from steelyard_reranker.selection import SelectionSettings
from steelyard_runtime.floors import CosineFloors
from tests.unit.evidence.samples import FakeReader, candidate, manifest, query
from tests.unit.evidence.tiny_tokenizers import word_tokenizer

EXAMPLE = Path(__file__).parents[3] / "examples" / "gates.toml"
SOUND = Policy(strategy=Strategy.SLICE, selection=SelectionSettings(top_n=2)).with_pairs(budget=200)
WINDOWS = PairSettings(long_document=PairPolicy.WINDOWS)


@pytest.fixture
def pair_format(tmp_path: Path) -> PairFormat:
    return CrossEncoderFormat(TextTokenizer(word_tokenizer(tmp_path)), 256)


@pytest.fixture
def gates() -> Gates:
    return read_gates(EXAMPLE)


def run_of(folder: Path, current: Policy, proposed: Policy, reader: FakeReader | None = None) -> Run:
    queries = [query(number, segment="identifiers" if number % 2 else "all") for number in range(10)]
    plan = Plan(current=current, proposed=proposed)
    return run_plan(manifest(queries), plan, reader or FakeReader(), folder / "run.unfinished", lambda *_: None)


def failed(verdicts: list[Verdict]) -> list[str]:
    return [one.check for one in verdicts if not one.passed]


def test_gate_1_passes_what_the_example_requires(gates: Gates, pair_format: PairFormat) -> None:
    assert failed(replay(gates.fixtures.required, pair_format, PairSettings())) == []


def test_gate_1_turns_red_when_long_texts_are_cut(pair_format: PairFormat) -> None:
    verdicts = replay(list(NAMES), pair_format, PairSettings())
    assert failed(verdicts) == ["fixture middle", "fixture end", "fixture window_boundary"]


def test_gate_1_windows_read_everything(pair_format: PairFormat) -> None:
    assert failed(replay(list(NAMES), pair_format, WINDOWS)) == []


def test_gate_1_turns_red_when_windows_do_not_overlap_or_are_too_few(pair_format: PairFormat) -> None:
    for limit in (100, 180, 256):
        whole = replace(WINDOWS, budget=limit)
        assert failed(replay(["window_boundary"], pair_format, whole)) == []
        apart = replace(whole, window_overlap=0)
        assert failed(replay(["window_boundary"], pair_format, apart)) == ["fixture window_boundary"]
    few = replace(WINDOWS, aggregation=WindowAggregation.CAPPED, max_windows=1)
    assert "fixture end" in failed(replay(["end"], pair_format, few))


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (PairSettings(budget=48, min_doc_tokens=32), "RERANK_MIN_DOC_TOKENS"),
        (PairSettings(long_document=PairPolicy.ERROR), "text_too_long"),
        (PairSettings(budget=257), "more than the 256 tokens"),
    ],
)
def test_gate_1_turns_red_when_a_query_or_text_is_refused(
    pair_format: PairFormat, pairs: PairSettings, said: str
) -> None:
    verdicts = replay(["long_query"], pair_format, pairs)
    assert [one.passed for one in verdicts] == [False]
    assert said in verdicts[0].found


def test_gate_2_passes_a_declared_release(gates: Gates, tmp_path: Path, pair_format: PairFormat) -> None:
    run = run_of(tmp_path, SOUND, SOUND.with_pairs(budget=256))
    frozen = manifest([query(number, segment="identifiers" if number % 2 else "all") for number in range(10)])
    proposed = SOUND.with_pairs(budget=256)
    assert failed(identity.declared(gates.identity, frozen, run, proposed)) == []
    assert identity.supported(pair_format, proposed.pairs).passed
    assert identity.windows_keep_identity(pair_format, WINDOWS, frozen).passed
    assert identity.batches_keep_identity(FakeReader(), frozen, proposed.pairs).passed
    assert identity.offsets(PairEncoder(word_tokenizer(tmp_path)), frozen).passed


def test_gate_2_turns_red_on_a_silent_change(gates: Gates, tmp_path: Path) -> None:
    run = run_of(tmp_path, SOUND, SOUND)
    frozen = manifest([query(number, segment="identifiers" if number % 2 else "all") for number in range(10)])
    measured = "the run measured the policy that is to be promoted"
    for changed in (
        SOUND.with_pairs(long_document=PairPolicy.WINDOWS),
        SOUND.with_pairs(max_chars=1000),
        replace(SOUND, strategy=Strategy.ADAPTIVE),
    ):
        assert measured in failed(identity.declared(gates.identity, frozen, run, changed))
    assert failed(identity.declared(gates.identity, manifest(), run, SOUND)) == [
        "the run is of this manifest",
        "pairs are not shorter than allowed",
    ]
    strict = gates.identity.model_copy(update={"allowed_policies": [PairPolicy.WINDOWS]})
    assert "the truncation policy is an allowed one" in failed(identity.declared(strict, frozen, run, SOUND))


def test_gate_2_turns_red_when_something_else_is_replaced_than_was_compared_with(tmp_path: Path) -> None:
    proposed = SOUND.with_pairs(budget=256)
    run = run_of(tmp_path, SOUND, proposed)
    assert identity.replaced(run, SOUND, proposed).passed
    assert identity.replaced(run, proposed, proposed).passed
    other = identity.replaced(run, replace(SOUND, floors=CosineFloors(each=0.2)), proposed)
    assert not other.passed
    assert other.found == ("floors: measured {'best': None, 'each': None}, is {'best': None, 'each': 0.2}")


def test_gate_2_turns_red_on_an_unsupported_length(pair_format: PairFormat) -> None:
    found = identity.supported(pair_format, PairSettings(budget=512))
    assert not found.passed
    assert "more than the 256 tokens" in found.found


def test_gate_2_turns_red_without_offsets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare:
        ids, attention_mask, offsets, sequence_ids = (1, 2), (1, 1), [(0, 0), (0, 0)], [0, 1]

        def encode(self, *_: str) -> "Bare":
            return self

    encoder = PairEncoder(word_tokenizer(tmp_path))
    monkeypatch.setattr(encoder, "_whole", Bare())
    found = identity.offsets(encoder, manifest())
    assert not found.passed
    assert "no offsets" in found.found


@pytest.mark.parametrize("forgotten", ["document_id", "revision", "section", "scope"])
def test_gate_2_turns_red_when_windows_forget_whose_they_are(
    forgotten: str, pair_format: PairFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = query(1)
    long.candidates[0] = candidate("c1", "Inspect the pump weekly. " * 120)
    assert identity.windows_keep_identity(pair_format, WINDOWS, manifest([long])).passed
    original = identity.judgement

    def forgetful(*arguments: object) -> object:
        verdict = original(*arguments)  # type: ignore[arg-type]
        for window in [] if verdict.pair.windows is None else verdict.pair.windows.windows:
            setattr(window, forgotten, None)
        return verdict

    monkeypatch.setattr(identity, "judgement", forgetful)
    found = identity.windows_keep_identity(pair_format, WINDOWS, manifest([long]))
    assert not found.passed
    assert "candidate 'c1': a window calls itself" in found.found


def test_gate_2_turns_red_when_a_batch_mixes_scores_up() -> None:
    class Mixing(FakeReader):
        def read(self, query: str, candidates: object, pairs: PairSettings) -> object:  # type: ignore[override]
            found = super().read(query, candidates, pairs)  # type: ignore[arg-type]
            scores = sorted(found.readings, key=lambda reading: reading.score or 0.0)
            return replace(found, readings=tuple(scores))

    found = identity.batches_keep_identity(Mixing(), manifest(), PairSettings(budget=200))
    assert not found.passed


def test_gate_2_turns_red_when_a_candidate_is_read_in_one_order_only() -> None:
    class Forgetful(FakeReader):
        def read(self, query: str, candidates: object, pairs: PairSettings) -> object:  # type: ignore[override]
            found = super().read(query, candidates, pairs)  # type: ignore[arg-type]
            return replace(found, readings=(found.readings[0]._replace(score=None), *found.readings[1:]))

    found = identity.batches_keep_identity(Forgetful(), manifest(), PairSettings(budget=200))
    assert (found.passed, found.found) == (False, "a candidate has a score in one order and none in the other")


def test_gate_2_turns_red_when_the_reranker_can_not_read() -> None:
    class Failing(FakeReader):
        def read(self, *_: object) -> object:  # type: ignore[override]
            raise RunError("the server went away")

    found = identity.batches_keep_identity(Failing(), manifest(), PairSettings(budget=200))
    assert (found.passed, found.found) == (False, "the server went away")


def test_gate_3_passes_equal_routes(gates: Gates, tmp_path: Path) -> None:
    gate = gates.segments.model_copy(update={"protected": ["identifiers"], "max_recall_loss": 0.3})
    verdicts = compare(gate, run_of(tmp_path, SOUND, SOUND))
    assert failed(verdicts) == []
    assert any(one.check.startswith("identifiers: ") for one in verdicts)


def test_gate_3_turns_red_on_lost_evidence_and_ranking(gates: Gates, tmp_path: Path) -> None:
    checks = failed(compare(gates.segments, run_of(tmp_path, SOUND, SOUND.with_pairs(budget=50))))
    assert "all queries: evidence in pairs against the current route" in checks
    assert "all queries: evidence sent against the current route" in checks
    assert "all queries: nDCG against the current route" in checks


SCATTERED = (0.4, -0.5) * 5
"""Differences of ten queries: 0.05 less in the mean, in an interval on both sides of zero."""


@pytest.mark.parametrize(
    ("differences", "allowed", "passes"),
    [
        (SCATTERED, 0.049, False),
        (SCATTERED, 0.05, True),
        ((-0.01,) * 10, 0.03, False),
        ((0.0,) * 10, 0.0, True),
    ],
    ids=["more than is allowed", "as much as is allowed", "little, and in every query", "none"],
)
def test_gate_3_allows_a_loss_up_to_its_threshold_unless_it_is_certain(
    gates: Gates, tmp_path: Path, differences: tuple[float, ...], allowed: float, passes: bool
) -> None:
    run = run_of(tmp_path, SOUND, SOUND)
    part = run.part(Axis.ROUTE, Route.PROPOSED)
    assert part is not None
    for record, difference in zip(part.records, differences, strict=True):
        record.ndcg += difference
    gate = gates.segments.model_copy(update={"max_recall_loss": 0.3, "max_ndcg_loss": allowed})
    assert failed(compare(gate, run)) == ([] if passes else ["all queries: nDCG against the current route"])


def test_gate_3_looks_at_each_protected_segment_by_itself(gates: Gates, tmp_path: Path) -> None:
    """A loss in two of ten queries is within the pooled allowance; in their own segment it is not."""
    run = run_of(tmp_path, SOUND, SOUND)
    part = run.part(Axis.ROUTE, Route.PROPOSED)
    assert part is not None
    part.records[1].segment = part.records[3].segment = "rare"
    current, plain = run.part(Axis.ROUTE, Route.CURRENT), run.part(Axis.ROUTE, Route.RETRIEVED)
    assert current is not None
    assert plain is not None
    for other in (current, plain):
        other.records[1].segment = other.records[3].segment = "rare"
    for one in (part, current, plain):
        one.segments["rare"] = one.segments["identifiers"]
    for number in (1, 3):
        part.records[number].ndcg -= 0.1
    gate = gates.segments.model_copy(update={"protected": ["rare"], "max_recall_loss": 0.5})
    assert failed(compare(gate, run)) == ["rare: nDCG against the current route"]
    assert failed(compare(gate.model_copy(update={"protected": ["absent"]}), run)) == [
        "every protected segment has queries"
    ]


def test_gate_3_turns_red_on_a_longer_tail(gates: Gates, tmp_path: Path) -> None:
    run = run_of(tmp_path, SOUND, SOUND.with_pairs(budget=199))
    part = run.part(Axis.ROUTE, Route.PROPOSED)
    assert part is not None
    assert part.pooled.latency is not None
    part.pooled.latency.p95 = 0.5
    gate = gates.segments.model_copy(update={"max_recall_loss": 0.3})
    assert failed(compare(gate, run)) == ["all queries: 95th percentile of latency"]


@pytest.mark.parametrize("route", [Route.CURRENT, Route.PROPOSED])
def test_gates_turn_red_on_a_latency_that_nobody_measured(gates: Gates, tmp_path: Path, route: Route) -> None:
    run = run_of(tmp_path, SOUND, SOUND)
    part = run.part(Axis.ROUTE, route)
    assert part is not None
    part.pooled.latency = None
    gate = gates.segments.model_copy(update={"max_recall_loss": 0.3})
    assert failed(compare(gate, run)) == ["all queries: 95th percentile of latency"]
    wanted = ["95th percentile of latency, seconds"] if route is Route.PROPOSED else []
    assert failed(promotable(gates.promotion, run)) == wanted


def test_gate_3_turns_red_without_all_three_routes(gates: Gates, tmp_path: Path) -> None:
    run = run_of(tmp_path, SOUND, SOUND)
    run.parts = [part for part in run.parts if part.label != Route.RETRIEVED]
    assert failed(compare(gates.segments, run)) == ["the run has all three routes"]


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"min_queries": 11}, "queries"),
        ({"min_recall": 1.0}, None),
        ({"max_context_tokens": 99}, "context tokens"),
        ({"max_p95_seconds": 0.001}, "95th percentile of latency, seconds"),
    ],
)
def test_gate_4_holds_each_threshold(gates: Gates, tmp_path: Path, change: dict[str, float], check: str | None) -> None:
    run = run_of(tmp_path, SOUND, SOUND)
    assert failed(promotable(gates.promotion, run)) == []
    changed = failed(promotable(gates.promotion.model_copy(update=change), run))
    assert changed == ([] if check is None else [check])


@pytest.mark.parametrize(
    ("judge", "check"),
    [(lambda _: 0.5, "nDCG"), (lambda text: 0.0 if "ZQ-77" in text else 0.9, "evidence sent")],
)
def test_gate_4_turns_red_on_a_bad_reranker(
    gates: Gates, tmp_path: Path, judge: Callable[[str], float], check: str
) -> None:
    run = run_of(tmp_path, SOUND, SOUND, FakeReader(judge=judge))
    gate = gates.promotion.model_copy(update={"min_ndcg": 0.9})
    assert check in failed(promotable(gate, run))


def test_gate_4_never_promotes_an_upper_bound(gates: Gates, tmp_path: Path) -> None:
    run = run_of(tmp_path, SOUND, SOUND)
    part = run.part(Axis.ROUTE, Route.PROPOSED)
    assert part is not None
    part.promotable = False
    assert failed(promotable(gates.promotion, run)) == ["the proposed route is promotable"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("max_p95_ratio = 2.0", "", "segments.max_p95_ratio"),
        ("min_recall = 0.8", "min_recall = 80", "promotion.min_recall"),
        ("min_recall", "min_recal", "promotion.min_recall: is missing; promotion.min_recal: is no key of this file"),
        ("min_recall = 0.8", "min_recall = nan", "promotion.min_recall: Input should be a finite number"),
        ("min_queries = 10", "min_queries = true", "promotion.min_queries"),
        ("[identity]", "[identty]", "identity: is missing; identty: is no key of this file"),
        ('"beginning"', '"begining"', "fixtures.required: 'begining' is none of"),
        ('"truncate", ', '"head_tail", ', "identity.allowed_policies.0"),
        ("[promotion]", "[promotion", "is no TOML"),
    ],
)
def test_a_malformed_gates_file_is_refused_by_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "gates.toml"
    text = EXAMPLE.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(GatesError, match=said):
        read_gates(path)


def test_promotion_keeps_permissions_and_follows_links(tmp_path: Path) -> None:
    real, live, proposed = tmp_path / "real.env", tmp_path / "reranker.env", tmp_path / "proposed.env"
    real.write_text("RERANKER_TOP_N=3\n")
    real.chmod(0o600)
    live.symlink_to(real)
    proposed.write_text("RERANKER_TOP_N=5\n")
    assert promote(proposed, live)
    assert live.is_symlink()
    assert real.read_text() == "RERANKER_TOP_N=5\n"
    assert [path.stat().st_mode & 0o777 for path in (real, previous_of(live))] == [0o600, 0o600]
    rollback(live)
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("RERANKER_TOP_N=3\n", 0o600)


def test_gate_2_turns_red_for_another_reranker() -> None:
    frozen = manifest()
    assert identity.reranker(frozen, frozen.reranker).passed
    other = frozen.reranker.model_copy(update={"sha256": "0" * 64})
    assert not identity.reranker(frozen, other).passed


def test_promotion_keeps_the_previous_file_and_rollback_restores_it(tmp_path: Path) -> None:
    live, proposed = tmp_path / "reranker.env", tmp_path / "proposed.env"
    live.write_bytes(b"RERANKER_TOP_N=3\r\n")
    proposed.write_bytes(b"RERANKER_TOP_N=5\n")
    assert promote(proposed, live)
    assert live.read_bytes() == b"RERANKER_TOP_N=5\n"
    assert not promote(proposed, live)  # again: the file must not become its own predecessor
    assert previous_of(live).read_bytes() == b"RERANKER_TOP_N=3\r\n"
    rollback(live)
    assert live.read_bytes() == b"RERANKER_TOP_N=3\r\n"
    with pytest.raises(PromotionError, match="no previous configuration"):
        rollback(live)
    with pytest.raises(PromotionError, match="No such file"):
        promote(tmp_path / "absent.env", live)
