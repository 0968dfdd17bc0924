"""Floors, scores, selection and degradation: what is kept, why the rest is dropped, and that all are accounted for."""

import asyncio
import itertools
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.ledger import totals
from steelyard_contracts.reranking import RerankingRequest, RerankingResponse
from steelyard_reranker.backends.port import Judgement, RerankBackendError
from steelyard_reranker.selection import EmbeddingMisalignedError
from steelyard_runtime.blocking import Workers

from .fake_scorer import Bench, FakeScorer, judgement, query_vector, request, vectors

TEXTS = {"a": "alpha text", "b": "beta text", "c": "gamma text", "d": "delta text"}
COSINES = {"a": 0.9, "b": 0.7, "c": 0.5, "d": 0.3}
SCORES = {"alpha text": 0.2, "beta text": 0.9, "gamma text": 0.6, "delta text": 0.4}
DOWN = RerankBackendError("unreachable", "no connection")


def bench(**settings: Any) -> Bench:
    return Bench(FakeScorer(dict(SCORES)), {"reranking_strategy": "slice", "reranker_top_n": 2} | settings)


def rerank(made: Bench, body: RerankingRequest) -> RerankingResponse:
    reply = asyncio.run(made.rerank_soon(body))
    counted = totals(reply.ledger)
    assert counted.retrieved == len(body.retrieved_docs) == counted.sent + sum(counted.dropped.values())
    ranked = sorted((one for one in reply.ledger if one.rank is not None), key=lambda one: one.rank or 0)
    assert [doc.id for doc in reply.reranked_docs] == [one.chunk_id for one in ranked]
    assert [doc.rank for doc in reply.reranked_docs] == list(range(1, counted.sent + 1))
    return reply


def kept(reply: RerankingResponse) -> list[str]:
    return [doc.id for doc in reply.reranked_docs]


def reasons(reply: RerankingResponse) -> dict[str, str]:
    return {entry.chunk_id: str(entry.reason) for entry in reply.ledger}


def test_candidates_are_ordered_by_rerank_score_and_cut_to_top_n() -> None:
    made = bench()
    reply = rerank(made, request(TEXTS, COSINES, id="x"))
    assert kept(reply) == ["b", "c"]
    assert [doc.score for doc in reply.reranked_docs] == [0.9, 0.6]
    assert (reply.outcome, reply.score_kind, reply.strategy, reply.id) == ("ok", "rerank", "slice", "x")
    assert reply.degraded is None
    assert made.scorer.seen == [("the query", list(TEXTS.values()))]
    entry = {one.chunk_id: one for one in reply.ledger}["b"]
    assert entry.scores == {"cosine": 0.7, "rerank": 0.9}
    assert (entry.retrieval_rank, entry.document_id, entry.rank) == (2, "d-b", 1)
    assert entry.pair is not None
    assert entry.pair.query_tokens == 2


def test_the_order_in_which_candidates_come_decides_nothing() -> None:
    selections = set()
    for order in itertools.permutations(TEXTS):
        body = request({chunk_id: TEXTS[chunk_id] for chunk_id in order}, COSINES)
        selections.add(tuple(kept(rerank(bench(), body))))
    assert selections == {("b", "c")}


def test_nothing_in_is_nothing_out_and_asks_no_backend() -> None:
    for strategy in ("slice", "adaptive"):
        made = bench()
        made.scorer.fault = DOWN
        reply = rerank(made, request({}, reranking_strategy=strategy))
        assert (reply.outcome, reply.ledger, made.scorer.seen) == ("empty", [], [])


def test_a_blank_query_is_refused_before_the_backend() -> None:
    made = bench()
    with pytest.raises(SteelyardError, match="initial_query: is blank") as error:
        rerank(made, request(TEXTS, COSINES, initial_query=" \t"))
    assert error.value.code is ErrorCode.INVALID_REQUEST
    assert made.scorer.seen == []


class TestOverrides:
    def test_the_requests_values_replace_the_services(self) -> None:
        made = bench()
        assert kept(rerank(made, request(TEXTS, COSINES, top_n=3))) == ["b", "c", "d"]
        threshold = request(TEXTS, COSINES, reranking_strategy="threshold", reranking_threshold=0.6)
        assert kept(rerank(made, threshold)) == ["b", "c"]

    def test_a_threshold_of_zero_is_honoured(self) -> None:
        made = bench(reranking_strategy="threshold", reranking_threshold=0.95)
        assert kept(rerank(made, request(TEXTS, COSINES))) == []
        assert kept(rerank(made, request(TEXTS, COSINES, reranking_threshold=0))) == ["b", "c", "d", "a"]

    def test_without_an_override_the_services_values_hold(self) -> None:
        made = bench(reranking_strategy="slice_threshold", reranking_threshold=0.55, reranker_top_n=9)
        assert kept(rerank(made, request(TEXTS, COSINES))) == ["b", "c"]

    def test_nothing_above_the_threshold_is_an_honest_empty_outcome(self) -> None:
        reply = rerank(bench(), request(TEXTS, COSINES, reranking_strategy="threshold", reranking_threshold=1))
        assert (reply.outcome, kept(reply)) == ("empty", [])
        assert set(reasons(reply).values()) == {"below_threshold"}


class TestCosineFloors:
    def test_the_chunk_floor_drops_before_the_backend_is_asked(self) -> None:
        made = bench(retrieval_min_chunk_score=0.5)
        reply = rerank(made, request(TEXTS, COSINES))
        assert made.scorer.seen == [("the query", ["alpha text", "beta text", "gamma text"])]
        assert reasons(reply)["d"] == "below_cosine_floor"
        assert {one.chunk_id: one.pair for one in reply.ledger}["d"] is None

    def test_the_floor_itself_passes(self) -> None:
        assert (
            "below_cosine_floor"
            not in reasons(rerank(bench(retrieval_min_chunk_score=0.3), request(TEXTS, COSINES))).values()
        )

    def test_the_least_best_cosine_drops_all_or_none(self) -> None:
        assert kept(rerank(bench(retrieval_min_score=0.9), request(TEXTS, COSINES))) == ["b", "c"]
        made = bench(retrieval_min_score=0.91)
        reply = rerank(made, request(TEXTS, COSINES))
        assert set(reasons(reply).values()) == {"below_cosine_floor"}
        assert (reply.outcome, made.scorer.seen) == ("empty", [])

    def test_a_least_best_cosine_of_zero_is_one(self) -> None:
        reply = rerank(bench(retrieval_min_score=0.0), request(TEXTS, dict.fromkeys(TEXTS, -0.1)))
        assert set(reasons(reply).values()) == {"below_cosine_floor"}
        assert kept(rerank(bench(retrieval_min_score=0.0), request(TEXTS, dict.fromkeys(TEXTS, 0.0)))) == ["b", "c"]

    def test_a_floor_of_zero_is_a_floor(self) -> None:
        cosines = {**COSINES, "c": -0.1, "d": 0.0}
        assert [
            chunk_id
            for chunk_id, reason in reasons(
                rerank(bench(retrieval_min_chunk_score=0.0), request(TEXTS, cosines))
            ).items()
            if reason == "below_cosine_floor"
        ] == ["c"]

    def test_floors_never_touch_rerank_scores_and_thresholds_never_touch_cosines(self) -> None:
        made = bench(retrieval_min_chunk_score=0.95, reranking_strategy="threshold", reranking_threshold=0.0)
        made.scorer.scores = dict.fromkeys(SCORES, 0.01)
        cosines = dict.fromkeys(TEXTS, 0.96)
        assert len(kept(rerank(made, request(TEXTS, cosines)))) == 4
        made = bench(reranking_strategy="threshold", reranking_threshold=0.9)
        assert kept(rerank(made, request(TEXTS, {"a": 0.99, "b": 0.01, "c": 0.95, "d": 0.95}))) == ["b"]

    def test_a_candidate_without_a_cosine_is_not_judged_by_the_floors(self) -> None:
        reply = rerank(bench(retrieval_min_chunk_score=0.8, retrieval_min_score=0.85), request(TEXTS, {"a": 0.1}))
        assert reasons(reply)["a"] == "below_cosine_floor"
        assert kept(reply) == ["b", "c"]

    def test_other_kinds_of_score_are_no_cosines(self) -> None:
        body = request(TEXTS, COSINES)
        assert body.metadata is not None
        for entry in body.metadata:
            entry.scores.clear()
            entry.scores.update({"rrf": 0.01, "bm25": 0.02})  # type: ignore[dict-item]
        assert kept(rerank(bench(retrieval_min_score=0.5, retrieval_min_chunk_score=0.5), body)) == ["b", "c"]


class TestBlankTexts:
    def test_they_are_not_sent_and_come_last(self) -> None:
        made = bench(reranker_top_n=4)
        reply = rerank(made, request({"x": " \n", **TEXTS, "y": ""}, COSINES))
        assert made.scorer.seen == [("the query", list(TEXTS.values()))]
        assert (reasons(reply)["x"], reasons(reply)["y"]) == ("blank_text", "blank_text")
        assert [one.chunk_id for one in reply.ledger][-2:] == ["x", "y"]

    def test_only_blank_texts_ask_no_backend_and_are_empty(self) -> None:
        made = bench()
        made.scorer.fault = DOWN
        reply = rerank(made, request({"x": " ", "y": "\u3000"}, {"x": 0.9}))
        assert (reply.outcome, made.scorer.seen) == ("empty", [])


class TestTheCap:
    def test_it_cuts_the_copy_only(self) -> None:
        made = bench(rerank_max_chars_per_doc=5, reranker_top_n=4)
        made.scorer.scores = {}
        query = "a query that is longer than the cap"
        reply = rerank(made, request(TEXTS, COSINES, initial_query=query))
        assert made.scorer.seen == [(query, ["alpha", "beta ", "gamma", "delta"])]
        assert {doc.id: doc.text for doc in reply.reranked_docs} == TEXTS

    def test_a_cut_is_reported_and_an_uncut_text_is_not(self) -> None:
        made = bench(rerank_max_chars_per_doc=9)
        reply = rerank(made, request(TEXTS, COSINES))
        pairs = {one.chunk_id: one.pair for one in reply.ledger}
        cut, whole = pairs["a"], pairs["b"]
        assert cut is not None
        assert whole is not None
        assert (cut.truncated, cut.kept_spans) == (True, [(0, 9)])
        assert (whole.truncated, whole.kept_spans) == (False, [(0, 9)])

    def test_a_text_of_which_only_white_space_is_left_is_not_sent_and_not_kept(self) -> None:
        made = bench(rerank_max_chars_per_doc=4, reranker_top_n=9)
        reply = rerank(made, request({"x": " " * 6 + "words", "a": "alpha"}, {"x": 0.9, "a": 0.8}))
        assert made.scorer.seen == [("the query", ["alph"])]
        assert (kept(reply), reasons(reply)["x"]) == (["a"], "not_scored")

    def test_a_cut_text_costs_what_the_prompt_will_hold_of_it(self) -> None:
        long = "word " * 400
        body = request(
            {"a": long, "b": "short"},
            {"a": 0.9, "b": 0.8},
            {"a": 400, "b": 99},
            reranking_strategy="adaptive",
            embedding=query_vector(2),
            chunk_embeddings=vectors("a", "b"),
        )
        value = {one.chunk_id: one.value for one in rerank(bench(rerank_max_chars_per_doc=50), body).ledger}
        assert value["a"] is not None
        assert value["b"] is not None
        assert value["a"].token_count == 400
        # what the reranker counted stands where it read the whole text
        assert value["b"].token_count == 1


class TestDegradation:
    @pytest.mark.parametrize(
        ("fault", "reason"),
        [
            (DOWN, "unreachable"),
            (lambda judged: judged[:-1], "wrong_count"),
            (lambda judged: [*judged, judged[0]], "wrong_count"),
            (lambda judged: [judgement(float("nan"), "x"), *judged[1:]], "not_finite"),
            (lambda judged: [*judged[:-1], judgement(1.5, "x")], "out_of_scale"),
            (lambda judged: [*judged[:-1], judgement("0.5", "x")], "not_a_number"),
            (ValueError("CANARY in a library's message"), "crashed"),
            (MemoryError(), "crashed"),
        ],
    )
    def test_any_fault_of_the_backend_discards_the_whole_reply(self, fault: Any, reason: str) -> None:
        made = bench()
        made.scorer.fault = fault
        reply = rerank(made, request(TEXTS, COSINES))
        assert (reply.outcome, reply.score_kind) == ("degraded", "cosine")
        assert kept(reply) == ["a", "b"]
        assert [doc.score for doc in reply.reranked_docs] == [0.9, 0.7]
        assert reply.degraded is not None
        assert (reply.degraded.stage, reply.degraded.reason) == ("reranker", reason)
        assert "CANARY" not in reply.degraded.detail
        assert all("rerank" not in entry.scores and entry.pair is None for entry in reply.ledger)
        assert made.degraded(reason) == 1

    def test_every_degraded_reply_is_counted(self) -> None:
        made = bench()
        made.scorer.fault = DOWN
        for _ in range(3):
            rerank(made, request(TEXTS, COSINES))
        assert made.degraded("unreachable") == 3
        made.scorer.fault = None
        rerank(made, request(TEXTS, COSINES))
        assert made.degraded("unreachable") == 3

    @pytest.mark.parametrize("strategy", ["slice", "threshold", "slice_threshold", "knee_threshold", "adaptive"])
    def test_rerank_thresholds_and_strategies_do_not_apply(self, strategy: str) -> None:
        made = bench()
        made.scorer.fault = DOWN
        adaptive = {"embedding": query_vector(4), "chunk_embeddings": vectors(*TEXTS)} if strategy == "adaptive" else {}
        body = request(TEXTS, COSINES, reranking_strategy=strategy, reranking_threshold=1, top_n=3, **adaptive)
        reply = rerank(made, body)
        assert kept(reply) == ["a", "b", "c"]
        assert reply.strategy == strategy
        assert all(entry.value is None for entry in reply.ledger)

    def test_cosine_floors_still_apply(self) -> None:
        made = bench(retrieval_min_chunk_score=0.6, reranker_top_n=4)
        made.scorer.fault = DOWN
        reply = rerank(made, request(TEXTS, COSINES))
        assert kept(reply) == ["a", "b"]
        assert reasons(reply)["c"] == "below_cosine_floor"

    def test_cosine_order_is_not_retrieval_order(self) -> None:
        made = bench(reranker_top_n=9)
        made.scorer.fault = DOWN
        assert kept(rerank(made, request(TEXTS, {"a": 0.1, "c": 0.2, "d": -0.5}))) == ["c", "a", "d", "b"]

    def test_a_query_that_is_too_long_is_the_callers_fault(self) -> None:
        made = bench()
        made.scorer.fault = SteelyardError(ErrorCode.QUERY_TOO_LONG, "too long")
        with pytest.raises(SteelyardError, match="too long"):
            rerank(made, request(TEXTS, COSINES))

    def test_the_policy_can_be_to_fail(self) -> None:
        made = bench(rerank_failure_policy="fail")
        made.scorer.fault = DOWN
        with pytest.raises(RerankBackendError, match="no connection"):
            rerank(made, request(TEXTS, COSINES))
        assert made.degraded("unreachable") == 0
        made.scorer.fault = lambda judged: judged[1:]
        with pytest.raises(RerankBackendError, match="3 of 4"):
            rerank(made, request(TEXTS, COSINES))


def _without_a_vector(body: RerankingRequest) -> RerankingRequest:
    return body.model_copy(
        update={"chunk_embeddings": {k: v for k, v in (body.chunk_embeddings or {}).items() if k != "d"}}
    )


class TestAdaptiveIntegrity:
    SPOILED = (
        {"embedding": None},
        {"chunk_embeddings": None},
        {"chunk_embeddings": {}},
        {"chunk_embeddings": vectors("a", "b", "c")},
        {"chunk_embeddings": vectors(*TEXTS) | {"stray": [1.0] * 5}},
        {"chunk_embeddings": vectors(*TEXTS) | {"c": [1.0] * 4}},
        {"chunk_embeddings": vectors(*TEXTS) | {"c": [0.0] * 5}},
        {"embedding": [0.0] * 5},
    )

    def body(self, **changes: Any) -> RerankingRequest:
        fields = {"embedding": query_vector(4), "chunk_embeddings": vectors(*TEXTS)} | changes
        return request(TEXTS, COSINES, reranking_strategy="adaptive", **fields)

    def test_sound_vectors_are_accepted(self) -> None:
        reply = rerank(bench(), self.body())
        assert reply.outcome == "ok"
        assert all(entry.value is not None for entry in reply.ledger)

    @pytest.mark.parametrize("spoiled", SPOILED)
    @pytest.mark.parametrize("fault", [None, DOWN])
    def test_a_fault_of_the_data_is_raised_before_the_backend_is_asked(self, spoiled: Any, fault: Any) -> None:
        made = bench()
        made.scorer.fault = fault
        with pytest.raises(EmbeddingMisalignedError):
            rerank(made, self.body(**spoiled))
        assert made.scorer.seen == []
        assert made.degraded("unreachable") == 0

    @pytest.mark.parametrize("spoiled", SPOILED)
    def test_other_strategies_do_not_look_at_vectors(self, spoiled: Any) -> None:
        body = self.body(**spoiled).model_copy(update={"reranking_strategy": None})
        assert rerank(bench(), body).outcome == "ok"

    def test_a_vector_that_is_missing_below_a_floor_is_a_fault_all_the_same(self) -> None:
        with pytest.raises(EmbeddingMisalignedError, match="'d'"):
            rerank(bench(retrieval_min_chunk_score=0.4), self.body(chunk_embeddings=vectors("a", "b", "c")))

    def test_a_blank_or_unscored_text_needs_its_vector_too_and_then_is_no_trouble(self) -> None:
        texts = {**TEXTS, "e": " ", "f": " " * 20 + "end"}
        fields = {"embedding": query_vector(6), "reranking_strategy": "adaptive"}
        made = bench(rerank_max_chars_per_doc=10)
        with pytest.raises(EmbeddingMisalignedError):
            rerank(made, request(texts, {}, chunk_embeddings=vectors(*TEXTS, "e"), **fields))
        reply = rerank(made, request(texts, {}, chunk_embeddings=vectors(*texts), **fields))
        assert (reasons(reply)["e"], reasons(reply)["f"]) == ("blank_text", "not_scored")

    def test_duplicates_are_dropped_by_adaptive_and_by_no_other_strategy(self) -> None:
        texts = {"a": "the same text", "b": "the same  TEXT", "c": "another one"}
        fields = {"embedding": query_vector(3), "chunk_embeddings": vectors(*texts)}
        made = bench(reranker_top_n=3)
        made.scorer.scores = {"the same text": 0.9, "the same  TEXT": 0.8, "another one": 0.7}
        adaptive = rerank(made, request(texts, {}, reranking_strategy="adaptive", **fields))
        assert reasons(adaptive)["b"] == "duplicate"
        assert kept(rerank(made, request(texts, {}, **fields))) == ["a", "b", "c"]


class TestPolicyHash:
    def hash_of(self, settings: dict[str, Any] | None = None, made: Bench | None = None, **fields: Any) -> str:
        return rerank(made or bench(**(settings or {})), request(TEXTS, COSINES, **fields)).policy_hash

    def test_equal_policies_have_equal_hashes(self) -> None:
        assert self.hash_of() == self.hash_of() == self.hash_of(top_n=2, reranking_strategy="slice")
        assert self.hash_of({"rerank_threads": 2}) == self.hash_of(), "what decides nothing is no policy"
        assert self.hash_of(initial_query="another") == self.hash_of()

    def test_a_degraded_reply_has_the_hash_of_its_policy(self) -> None:
        made = bench()
        made.scorer.fault = DOWN
        assert self.hash_of(made=made) == self.hash_of()

    @pytest.mark.parametrize(
        "settings",
        [
            {"reranking_strategy": "threshold"},
            {"reranker_top_n": 5},
            {"reranking_threshold": 0.25},
            {"novelty_sigmoid_a": 10.0},
            {"novelty_sigmoid_b": 0.5},
            {"token_cost_alpha": 0.0},
            {"min_value_threshold": 0.0},
            {"confusion_cost_weight": 0.0},
            {"adaptive_floor_score": None},
            {"adaptive_floor_score": 0.0},
            {"rerank_max_chars_per_doc": 2000},
            {"retrieval_min_score": 0.0},
            {"retrieval_min_chunk_score": 0.0},
            {"rerank_failure_policy": "fail"},
        ],
    )
    def test_every_setting_that_decides_something_changes_it(self, settings: dict[str, Any]) -> None:
        assert self.hash_of(settings) != self.hash_of()

    @pytest.mark.parametrize("fields", [{"reranking_strategy": "threshold"}, {"top_n": 1}, {"reranking_threshold": 0}])
    def test_every_override_changes_it(self, fields: dict[str, Any]) -> None:
        assert self.hash_of(**fields) != self.hash_of()

    def test_all_of_them_differ_from_each_other(self) -> None:
        hashes = {self.hash_of(top_n=n, reranking_threshold=t) for n in (1, 2, 3) for t in (0, 0.5, 1)}
        assert len(hashes) == 9

    def test_another_model_or_truncation_changes_it(self) -> None:
        made = bench()
        made.scorer.policy = {"reranker": "fake", "revision": "r2"}
        assert self.hash_of(made=made) != self.hash_of()


class _HeldScorer(FakeScorer):
    """Waits in every call until the query's turn is given."""

    def __init__(self) -> None:
        super().__init__(dict(SCORES))
        self.turns = {"quick": threading.Event(), "slow": threading.Event()}

    def score(self, query: str, texts: Sequence[str]) -> list[Judgement]:
        assert self.turns[query].wait(20)
        return super().score(query, texts)


def test_a_scored_request_is_selected_while_the_next_one_is_being_scored() -> None:
    """Behind one queue of threads, every request would wait for the scoring of all that came after it."""
    scorer = _HeldScorer()
    made = Bench(scorer, {"reranking_strategy": "slice"})

    async def run() -> None:
        scoring, selecting = Workers("scoring", 1), Workers("selecting", 1)
        ranking = made.ranking(scoring, selecting)
        try:
            quick = asyncio.create_task(ranking.rerank(request(TEXTS, COSINES, initial_query="quick")))
            slow = asyncio.create_task(ranking.rerank(request(TEXTS, COSINES, initial_query="slow")))
            await asyncio.sleep(0)
            scorer.turns["quick"].set()
            async with asyncio.timeout(20):
                assert (await quick).outcome == "ok"
            assert not slow.done()
            scorer.turns["slow"].set()
            assert (await slow).outcome == "ok"
        finally:
            for turn in scorer.turns.values():
                turn.set()
            scoring.close()
            selecting.close()

    asyncio.run(run())
