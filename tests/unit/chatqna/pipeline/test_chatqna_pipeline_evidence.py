"""The pipeline up to the model: faults of the data fail, faults of the reranker degrade, and all is accounted for."""

from typing import Any

import pytest

from steelyard_chatqna.pipeline.evidence import Evidence, gather
from steelyard_chatqna.pipeline.integrity import EmbeddingMisalignedError
from steelyard_contracts.enums import Outcome, Reason, ScoreKind, Stage
from steelyard_contracts.errors import HTTP_STATUS, ErrorCode, FieldFault, SteelyardError, UpstreamError
from steelyard_contracts.ledger import totals
from steelyard_runtime.floors import CosineFloors
from steelyard_runtime.upstream.http import Upstream

from ..fakes import LATE, TEXTS, FakeParts, ask, entry, evidence, reranked, retrieved, run


def gathered(neighbours: FakeParts, deadline_s: float = 20.0, **overrides: Any) -> Evidence:
    found = run(lambda: gather(ask(**({"reranking_strategy": "slice"} | overrides)), neighbours.parts), deadline_s)
    counted = totals(found.entries)
    assert counted.retrieved == len(found.candidates) == counted.sent + sum(counted.dropped.values())
    assert counted.sent == len(found.selected)
    ranked = sorted((one for one in found.entries if one.rank), key=lambda one: one.rank or 0)
    assert [one.chunk_id for one in ranked] == [chunk.chunk_id for chunk in found.selected]
    return found


def ids(found: Evidence) -> list[str]:
    return [chunk.chunk_id for chunk in found.selected]


def upstream(code: ErrorCode, stage: Stage = Stage.RERANKER) -> UpstreamError:
    return UpstreamError(code, f"detail of {code}", stage=stage)


class TestTheWay:
    def test_the_stages_follow_each_other(self) -> None:
        neighbours = FakeParts()
        neighbours.reranker.answer = lambda body: reranked(body, ["c", "a"])
        found = gathered(neighbours)
        assert ids(found) == ["c", "a"]
        assert [chunk.text for chunk in found.selected] == [TEXTS["c"], TEXTS["a"]]
        assert [chunk.chunk_id for chunk in found.candidates] == ["a", "b", "c"]
        assert (found.outcome, found.score_kind, found.best_score, found.degraded) == ("ok", "rerank", 0.9, ())
        assert [one.asked[0][0] for one in (neighbours.embedding, neighbours.retriever, neighbours.reranker)] == [
            "/v1/embeddings",
            "/v1/retrieval",
            "/v1/reranking",
        ]

    def test_reranking_may_take_half_of_what_is_left(self) -> None:
        neighbours = FakeParts()
        gathered(neighbours)
        assert neighbours.reranker.asked[0][2] == 0.5

    def test_the_policy_hash_covers_every_stage_and_every_override(self) -> None:
        first = gathered(FakeParts()).policy_hash
        assert gathered(FakeParts()).policy_hash == first
        assert gathered(FakeParts(), top_n=1).policy_hash != first
        assert gathered(FakeParts(), score_threshold=0).policy_hash != first
        hashes = set()
        for stage in ("retriever", "reranker", "embedding"):
            neighbours = FakeParts()
            service = getattr(neighbours, stage)
            answer = service.answer
            changed = {"model_revision": "r2"} if stage == "embedding" else {"policy_hash": "another"}
            service.answer = lambda body, answer=answer, changed=changed: answer(body) | changed
            hashes.add(gathered(neighbours).policy_hash)
        assert len(hashes | {first}) == 4

    def test_nothing_found_asks_no_reranker_and_is_honestly_empty(self) -> None:
        neighbours = FakeParts()
        neighbours.retriever.answer = lambda body: retrieved(body, {})
        neighbours.reranker.answer = lambda body: upstream(ErrorCode.UPSTREAM_UNREACHABLE)
        for strategy in ("slice", "adaptive"):
            found = gathered(neighbours, reranking_strategy=strategy)
            assert (found.outcome, found.candidates, found.best_score) == ("empty", (), None)
        assert neighbours.reranker.asked == []

    def test_a_degraded_search_stays_degraded_even_when_it_found_nothing(self) -> None:
        degraded = {"outcome": "degraded", "degraded": {"stage": "retriever", "reason": "half", "detail": "d"}}
        for texts in (TEXTS, {}):
            neighbours = FakeParts()
            neighbours.retriever.answer = lambda body, texts=texts: retrieved(body, texts) | degraded
            found = gathered(neighbours)
            assert found.outcome == "degraded"
            assert [one.reason for one in found.degraded] == ["half"]
            assert len(neighbours.reranker.asked) == (1 if texts else 0)

    def test_a_deadline_that_has_passed_starts_no_work(self) -> None:
        neighbours = FakeParts()
        real = Upstream(Stage.EMBEDDING, "http://127.0.0.1:9")
        neighbours.embedding.post = real.post  # type: ignore[method-assign]
        with pytest.raises(SteelyardError) as error:
            gathered(neighbours, deadline_s=-1.0)
        assert error.value.code is ErrorCode.DEADLINE_EXCEEDED


class TestFaultsBeforeReranking:
    @pytest.mark.parametrize("stage", ["embedding", "retriever"])
    @pytest.mark.parametrize("code", [ErrorCode.UPSTREAM_UNREACHABLE, ErrorCode.STORE_UNAVAILABLE, ErrorCode.INTERNAL])
    def test_they_are_errors_and_never_no_evidence(self, stage: str, code: ErrorCode) -> None:
        neighbours = FakeParts()
        getattr(neighbours, stage).answer = lambda body: upstream(code, Stage(stage))
        with pytest.raises(UpstreamError) as error:
            gathered(neighbours)
        assert (error.value.code, error.value.stage) == (code, stage)

    def test_a_vector_that_does_not_fit_the_store_is_not_the_clients_fault(self) -> None:
        neighbours = FakeParts()
        neighbours.retriever.answer = lambda body: upstream(ErrorCode.DIMENSION_MISMATCH, Stage.RETRIEVER)
        with pytest.raises(UpstreamError, match="embedding does not fit the store") as error:
            gathered(neighbours)
        assert (error.value.status, error.value.stage) == (502, "embedding")

    def test_a_question_that_is_too_long_to_embed_is_refused_in_the_clients_terms(self) -> None:
        neighbours = FakeParts()
        said = FieldFault(field="input.0", message="has 600 tokens, the model reads at most 512")
        neighbours.embedding.answer = lambda body: UpstreamError(
            ErrorCode.TEXT_TOO_LONG, f"{said.field} {said.message}", stage=Stage.EMBEDDING, errors=[said]
        )
        with pytest.raises(UpstreamError, match=r"^messages: the question has 600 tokens, .* at most 512 for") as error:
            gathered(neighbours)
        assert (error.value.status, error.value.stage) == (422, "embedding")
        assert [fault.field for fault in error.value.errors] == ["messages"]

    @pytest.mark.parametrize("policy", ["degrade", "fail"])
    @pytest.mark.parametrize("reranker_up", [True, False])
    def test_adaptive_without_a_usable_vector_fails_before_the_reranker(
        self, policy: str, *, reranker_up: bool
    ) -> None:
        neighbours = FakeParts(policy)

        def spoiled(body: dict[str, Any]) -> dict[str, Any]:
            reply = retrieved(body)
            reply["metadata"][1].pop("chunk_embedding", None)
            return reply

        neighbours.retriever.answer = spoiled
        if not reranker_up:
            neighbours.reranker.answer = lambda body: upstream(ErrorCode.UPSTREAM_UNREACHABLE)
        with pytest.raises(EmbeddingMisalignedError):
            gathered(neighbours, reranking_strategy="adaptive")
        assert neighbours.reranker.asked == []


FAULTS = [
    ErrorCode.UPSTREAM_UNREACHABLE,
    ErrorCode.UPSTREAM_BAD_REPLY,
    ErrorCode.UPSTREAM_TIMEOUT,
    ErrorCode.OVERLOADED,
    ErrorCode.NOT_READY,
    ErrorCode.MODEL_UNAVAILABLE,
    ErrorCode.RERANK_FAILED,
    ErrorCode.DEADLINE_EXCEEDED,
    ErrorCode.BODY_TOO_LARGE,
    ErrorCode.INTERNAL,
]


class TestFaultsOfTheReranker:
    @pytest.mark.parametrize("code", FAULTS)
    def test_they_degrade_to_cosine_order_and_are_counted(self, code: ErrorCode) -> None:
        neighbours = FakeParts()
        neighbours.reranker.answer = lambda body: upstream(code)
        found = gathered(neighbours, top_n=2)
        assert ids(found) == ["a", "b"]
        assert (found.outcome, found.score_kind, found.best_score) == ("degraded", "cosine", None)
        assert [(one.stage, one.reason, one.detail) for one in found.degraded] == [
            ("reranker", str(code), f"detail of {code}")
        ]
        assert neighbours.degraded(str(code)) == 1

    @pytest.mark.parametrize("code", FAULTS)
    def test_the_policy_can_be_to_fail(self, code: ErrorCode) -> None:
        neighbours = FakeParts("fail")
        neighbours.reranker.answer = lambda body: upstream(code)
        with pytest.raises(UpstreamError) as error:
            gathered(neighbours)
        assert error.value.code is code
        assert neighbours.degraded(str(code)) == 0

    @pytest.mark.parametrize("code", sorted(set(HTTP_STATUS) - set(FAULTS)))
    def test_any_other_error_is_not_hidden_by_degrading(self, code: ErrorCode) -> None:
        neighbours = FakeParts()
        neighbours.reranker.answer = lambda body: upstream(code)
        with pytest.raises(UpstreamError) as error:
            gathered(neighbours)
        assert error.value.code is code

    @pytest.mark.parametrize(
        "changes", [{"ledger": []}, {"reranked_docs": []}, {"strategy": "threshold"}, {"outcome": "degraded"}]
    )
    def test_a_nonsensical_reply_degrades_as_a_whole(self, changes: dict[str, Any]) -> None:
        neighbours = FakeParts()
        neighbours.reranker.answer = lambda body: reranked(body, ["c", "b"]) | changes
        found = gathered(neighbours, top_n=1)
        assert (ids(found), found.score_kind) == (["a"], "cosine")
        assert all("rerank" not in one.scores for one in found.entries)
        assert neighbours.degraded("upstream_bad_reply") == 1

    @pytest.mark.parametrize("strategy", ["threshold", "adaptive"])
    def test_thresholds_and_adaptive_selection_do_not_apply(self, strategy: str) -> None:
        neighbours = FakeParts()
        neighbours.reranker.answer = lambda body: upstream(ErrorCode.UPSTREAM_TIMEOUT)
        found = gathered(neighbours, reranking_strategy=strategy, reranking_threshold=1, top_n=3)
        assert ids(found) == ["a", "b", "c"]

    def degraded_reply(self, body: dict[str, Any]) -> dict[str, Any]:
        reason = {"stage": "reranker", "reason": "crashed", "detail": "the backend failed"}
        return reranked(body, ["a", "b"], kind="cosine", outcome="degraded", degraded=reason)

    def test_cosine_floors_hold_when_the_reranker_does_not_answer_at_all(self) -> None:
        neighbours = FakeParts(floors=CosineFloors(each=0.75))
        neighbours.reranker.answer = lambda _body: UpstreamError(
            ErrorCode.UPSTREAM_UNREACHABLE, "gone", stage=Stage.RERANKER
        )
        found = gathered(neighbours, top_n=3)
        assert ids(found) == ["a", "b"]
        assert {entry.chunk_id: entry.reason for entry in found.entries}["c"] == "below_cosine_floor"

    def test_a_reranker_that_degraded_itself_is_believed(self) -> None:
        neighbours = FakeParts()
        neighbours.reranker.answer = self.degraded_reply
        found = gathered(neighbours)
        assert (ids(found), found.outcome, found.score_kind, found.best_score) == (
            ["a", "b"],
            "degraded",
            "cosine",
            None,
        )
        assert [one.reason for one in found.degraded] == ["crashed"]

    def test_the_gateways_policy_outweighs_a_reranker_that_degraded_itself(self) -> None:
        neighbours = FakeParts("fail")
        neighbours.reranker.answer = self.degraded_reply
        with pytest.raises(UpstreamError, match="the backend failed") as error:
            gathered(neighbours)
        assert (error.value.code, error.value.stage, error.value.status) == (ErrorCode.RERANK_FAILED, "reranker", 502)

    def test_both_degradations_are_told(self) -> None:
        neighbours = FakeParts()
        half = {"outcome": "degraded", "degraded": {"stage": "retriever", "reason": "half", "detail": "d"}}
        neighbours.retriever.answer = lambda body: retrieved(body) | half
        neighbours.reranker.answer = self.degraded_reply
        assert [one.reason for one in gathered(neighbours).degraded] == ["half", "crashed"]


class TestEvidence:
    @pytest.mark.parametrize(
        ("selected", "degraded", "outcome"),
        [
            (("a",), (), Outcome.OK),
            ((), (), Outcome.EMPTY),
            (("a",), (LATE,), Outcome.DEGRADED),
            ((), (LATE,), Outcome.DEGRADED),
        ],
    )
    def test_the_outcome_is_empty_only_when_every_stage_worked(
        self, selected: Any, degraded: Any, outcome: Outcome
    ) -> None:
        assert evidence(selected, degraded=degraded).outcome is outcome

    def test_the_best_score_is_of_all_candidates_and_of_rerank_scores_only(self) -> None:
        entries = [entry("a", 1, score=0.3), entry("b", None, score=0.7), entry("c", None, score=None)]
        assert evidence(("a",), entries=entries).best_score == 0.7
        assert evidence(("a",), entries=entries, kind=ScoreKind.COSINE).best_score is None
        unscored = [entry(chunk_id, None, score=None) for chunk_id in "abc"]
        assert evidence((), entries=unscored).best_score is None

    @pytest.mark.parametrize("drop", [set(), {"a"}, {"b"}, {"c"}, {"a", "c"}, {"a", "b", "c"}])
    def test_dropping_closes_ranks_up_and_keeps_the_sum(self, drop: set[str]) -> None:
        texts = {**TEXTS, "d": "another"}
        found = evidence(("c", "a", "b"), texts)
        left = found.dropping(frozenset(drop), Reason.OVER_CONTEXT_BUDGET)
        counted = totals(left.entries)
        assert counted.retrieved == 4
        assert counted.dropped.get(Reason.OVER_CONTEXT_BUDGET, 0) == len(drop)
        assert counted.dropped[Reason.OVER_TOP_N] == 1
        expected = [chunk_id for chunk_id in ("c", "a", "b") if chunk_id not in drop]
        assert [chunk.chunk_id for chunk in left.selected] == expected
        assert {one.rank: one.chunk_id for one in left.entries if one.rank} == dict(enumerate(expected, start=1))

    def test_dropping_changes_neither_the_original_nor_an_earlier_reason(self) -> None:
        found = evidence(("a", "b"))
        before = found.entries
        left = found.dropping(frozenset({"a", "c"}), Reason.OVER_CONTEXT_BUDGET)
        assert found.entries is before
        assert {one.chunk_id: one.reason for one in left.entries} == {
            "a": "over_context_budget",
            "b": "selected",
            "c": "over_top_n",
        }
