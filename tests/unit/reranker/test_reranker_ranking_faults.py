"""Degradation, the integrity of adaptive selection, and the policy hash."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.reranking import RerankingRequest, RerankingResponse
from steelyard_reranker.backends.port import RerankBackendError
from steelyard_reranker.row_fault import RowFault
from steelyard_reranker.selection import EmbeddingMisalignedError
from steelyard_runtime import context

from .fake_backend import Bench, FakeBackend, WordFormat, query_vector, request, vectors
from .ranking_requests import COSINES, DOWN, SCORES, TEXTS, bench, kept, reasons, rerank


class TestDegradation:
    @pytest.mark.parametrize(
        ("fault", "reason"),
        [
            (DOWN, "unreachable"),
            (lambda scores: scores[:-1], "wrong_count"),
            (lambda scores: [*scores, scores[0]], "wrong_count"),
            (lambda scores: [float("nan"), *scores[1:]], "not_finite"),
            (lambda scores: [*scores[:-1], 1.5], "out_of_scale"),
            (lambda scores: [*scores[:-1], "0.5"], "not_a_number"),
            (ValueError("CANARY in a library's message"), "crashed"),
            (MemoryError(), "crashed"),
        ],
    )
    def test_any_fault_of_the_backend_discards_the_whole_reply(self, fault: Any, reason: str) -> None:
        made = bench()
        made.backend.fault = fault
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
        made.backend.fault = DOWN
        for _ in range(3):
            rerank(made, request(TEXTS, COSINES))
        assert made.degraded("unreachable") == 3
        made.backend.fault = None
        rerank(made, request(TEXTS, COSINES))
        assert made.degraded("unreachable") == 3

    @pytest.mark.parametrize("strategy", ["slice", "threshold", "slice_threshold", "knee_threshold", "adaptive"])
    def test_rerank_thresholds_and_strategies_do_not_apply(self, strategy: str) -> None:
        made = bench()
        made.backend.fault = DOWN
        adaptive = {"embedding": query_vector(4), "chunk_embeddings": vectors(*TEXTS)} if strategy == "adaptive" else {}
        body = request(TEXTS, COSINES, reranking_strategy=strategy, reranking_threshold=1, top_n=3, **adaptive)
        reply = rerank(made, body)
        assert kept(reply) == ["a", "b", "c"]
        assert reply.strategy == strategy
        assert all(entry.value is None for entry in reply.ledger)

    def test_cosine_floors_still_apply(self) -> None:
        made = bench(retrieval_min_chunk_score=0.6, reranker_top_n=4)
        made.backend.fault = DOWN
        reply = rerank(made, request(TEXTS, COSINES))
        assert kept(reply) == ["a", "b"]
        assert reasons(reply)["c"] == "below_cosine_floor"

    def test_cosine_order_is_not_retrieval_order(self) -> None:
        made = bench(reranker_top_n=9)
        made.backend.fault = DOWN
        assert kept(rerank(made, request(TEXTS, {"a": 0.1, "c": 0.2, "d": -0.5}))) == ["c", "a", "d", "b"]

    def test_it_is_logged_once_with_the_model_and_the_count(self) -> None:
        made = bench(retrieval_min_chunk_score=0.4)
        made.backend.fault = DOWN
        with capture_logs() as logged:
            rerank(made, request({**TEXTS, "e": " "}, COSINES))
        assert logged == [
            {
                "event": "rerank_degraded",
                "log_level": "warning",
                "reason": "unreachable",
                "model": "fake",
                "candidates": 3,
            }
        ]

    def test_it_keeps_the_store_bytes(self) -> None:
        made = bench(rerank_max_chars_per_doc=3, reranker_top_n=9)
        made.backend.fault = DOWN
        assert {doc.id: doc.text for doc in rerank(made, request(TEXTS, COSINES)).reranked_docs} == TEXTS

    def test_texts_that_all_have_faults_degrade(self) -> None:
        made = bench(rerank_long_document="error")
        made.pair_format = WordFormat(34)
        texts = dict.fromkeys(TEXTS, "word " * 40)
        reply = rerank(made, request(texts, COSINES))
        assert (reply.outcome, kept(reply)) == ("degraded", ["a", "b"])
        assert made.degraded("text_too_long") == 1

    def test_a_backend_that_is_late_degrades_before_the_deadline(self) -> None:
        class Late(FakeBackend):
            async def scores(self, query: str, texts: Sequence[str]) -> list[Any]:
                self.seen.append((query, list(texts)))
                await asyncio.Event().wait()
                raise AssertionError

        made = Bench(Late(), {"reranking_strategy": "slice", "reranker_top_n": 2})

        async def run(deadline_s: float) -> RerankingResponse:
            ends = asyncio.get_running_loop().time() + deadline_s
            context.bind(context.RequestContext("r", ends))
            reply = await made.rerank_soon(request(TEXTS, COSINES))
            assert asyncio.get_running_loop().time() < ends + 5, "it should not wait for the backend"
            return reply

        reply = asyncio.run(run(0.5))
        assert (reply.outcome, kept(reply)) == ("degraded", ["a", "b"])
        assert made.degraded("deadline_exceeded") == 1
        assert len(made.backend.seen) == 1

    def test_a_query_that_is_too_long_is_the_callers_fault(self) -> None:
        made = bench()
        made.backend.fault = SteelyardError(ErrorCode.QUERY_TOO_LONG, "too long")
        with pytest.raises(SteelyardError, match="too long"):
            rerank(made, request(TEXTS, COSINES))

    def test_the_policy_can_be_to_fail(self) -> None:
        made = bench(rerank_failure_policy="fail")
        made.backend.fault = DOWN
        with pytest.raises(RerankBackendError, match="no connection"):
            rerank(made, request(TEXTS, COSINES))
        assert made.degraded("unreachable") == 0
        made.backend.fault = lambda scores: scores[1:]
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
        made.backend.fault = fault
        with pytest.raises(EmbeddingMisalignedError):
            rerank(made, self.body(**spoiled))
        assert made.backend.seen == []
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
        made.backend.scored = {"the same text": 0.9, "the same  TEXT": 0.8, "another one": 0.7}
        adaptive = rerank(made, request(texts, {}, reranking_strategy="adaptive", **fields))
        assert reasons(adaptive)["b"] == "duplicate"
        assert kept(rerank(made, request(texts, {}, **fields))) == ["a", "b", "c"]


class TestRowFaults:
    def test_a_candidate_that_was_not_scored_says_why_and_the_others_keep_their_scores(self) -> None:
        made = bench(reranker_top_n=9)
        made.backend.scored = {**SCORES, "beta text": RowFault("refused", "the server refused it")}
        reply = rerank(made, request(TEXTS, COSINES))
        assert (reply.outcome, kept(reply)) == ("ok", ["c", "d", "a"])
        entry = {one.chunk_id: one for one in reply.ledger}["b"]
        assert (entry.reason, entry.fate, entry.pair) == ("not_scored", "dropped", None)
        assert entry.fault is not None
        assert entry.fault.model_dump() == {"reason": "refused", "detail": "the server refused it"}
        assert entry.scores == {"cosine": 0.7}
        assert all(one.fault is None for one in reply.ledger if one.chunk_id != "b")

    def test_it_counts_as_no_degraded_reply(self) -> None:
        made = bench()
        made.backend.scored = {"beta text": RowFault("refused", "no")}
        assert rerank(made, request(TEXTS, COSINES)).degraded is None
        assert made.degraded("refused") == 0

    def test_windows_of_one_chunk_are_one_candidate(self) -> None:
        made = bench(rerank_long_document="windows", reranker_top_n=9)
        made.pair_format = WordFormat(34)
        long = " ".join(f"w{number}" for number in range(90))
        reply = rerank(made, request({"a": long, "b": "short"}, {"a": 0.9, "b": 0.8}))
        assert len(made.backend.seen[0][1]) > 3
        assert sorted(kept(reply)) == ["a", "b"]
        pair = {one.chunk_id: one.pair for one in reply.ledger}["a"]
        assert pair is not None
        assert pair.windows is not None
        winner = pair.windows.windows[pair.windows.winner]
        assert (winner.chunk_id, winner.document_id, winner.revision, winner.scope) == ("a", "d-a", "1", "public")
        assert winner.document_span == winner.span
        assert next(doc.text for doc in reply.reranked_docs if doc.id == "a") == long


class TestWithoutATokenizer:
    def made(self, **settings: Any) -> Bench:
        return Bench(FakeBackend(dict(SCORES)), {"reranking_strategy": "slice"} | settings, None)

    def adaptive(self, tokens: dict[str, int]) -> RerankingRequest:
        fields = {"embedding": query_vector(4), "chunk_embeddings": vectors(*TEXTS)}
        return request(TEXTS, COSINES, tokens, reranking_strategy="adaptive", **fields)

    def test_pairs_are_unavailable_and_never_whole(self) -> None:
        pairs = [one.pair for one in rerank(self.made(), request(TEXTS, COSINES)).ledger]
        assert {pair and (pair.status, pair.tokens_total, pair.kept_spans, pair.truncated) for pair in pairs} == {
            ("unavailable", None, None, None)
        }

    def test_adaptive_weighs_the_tokens_that_retrieval_knows(self) -> None:
        reply = rerank(self.made(), self.adaptive({"a": 7, "b": 0, "c": 70, "d": 700}))
        assert {one.chunk_id: one.value and one.value.token_count for one in reply.ledger} == {
            "a": 7,
            "b": 0,
            "c": 70,
            "d": 700,
        }

    @pytest.mark.parametrize("fault", [None, DOWN])
    def test_adaptive_without_them_is_an_error_before_the_backend(self, fault: Any) -> None:
        made = self.made()
        made.backend.fault = fault
        with pytest.raises(SteelyardError, match=r"chunk 'c'.*RERANK_MODEL_DIR") as error:
            rerank(made, self.adaptive({"a": 7, "b": 8, "d": 9}))
        assert error.value.code is ErrorCode.TOKENS_UNKNOWN
        assert (made.backend.seen, made.degraded("unreachable")) == ([], 0)

    @pytest.mark.parametrize("strategy", ["slice", "threshold", "slice_threshold", "knee_threshold"])
    def test_no_other_strategy_needs_them(self, strategy: str) -> None:
        assert rerank(self.made(), request(TEXTS, COSINES, reranking_strategy=strategy)).outcome == "ok"


class TestPolicyHash:
    def hash_of(self, settings: dict[str, Any] | None = None, made: Bench | None = None, **fields: Any) -> str:
        return rerank(made or bench(**(settings or {})), request(TEXTS, COSINES, **fields)).policy_hash

    def test_equal_policies_have_equal_hashes(self) -> None:
        assert self.hash_of() == self.hash_of() == self.hash_of(top_n=2, reranking_strategy="slice")
        assert self.hash_of({"rerank_threads": 2}) == self.hash_of(), "what decides nothing is no policy"
        assert self.hash_of(initial_query="another") == self.hash_of()

    def test_a_degraded_reply_has_the_hash_of_its_policy(self) -> None:
        made = bench()
        made.backend.fault = DOWN
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
            {"rerank_pair_budget_tokens": 300},
            {"rerank_min_doc_tokens": 33},
            {"rerank_long_document": "windows"},
            {"rerank_long_document": "error"},
            {"rerank_window_overlap_tokens": 0},
            {"rerank_max_windows": 9},
            {"rerank_window_aggregation": "capped"},
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

    @pytest.mark.parametrize("fault", [None, DOWN])
    def test_it_names_the_model_that_scored_and_not_the_one_that_was_known_before(self, fault: Any) -> None:
        made = bench()

        def named(scores: list[float]) -> list[float]:
            made.backend.policy = {"reranker": "fake", "revision": "r2"}
            if fault is not None:
                raise fault
            return scores

        made.backend.fault = named
        first = self.hash_of(made=made)
        assert first == self.hash_of(made=made) != self.hash_of()

    def test_the_header_and_the_log_have_the_hash_of_the_body(self) -> None:
        made = bench()
        bound = context.RequestContext("r", 0.0)

        def named(scores: list[float]) -> list[float]:
            made.backend.policy = {"reranker": "fake", "revision": "r2"}
            return scores

        async def run() -> RerankingResponse:
            bound.deadline = asyncio.get_running_loop().time() + 30
            context.bind(bound)
            return await made.rerank_soon(request(TEXTS, COSINES))

        made.backend.fault = named
        assert asyncio.run(run()).policy_hash == bound.policy_hash

    def test_another_model_or_truncation_changes_it(self) -> None:
        made = bench()
        made.backend.policy = {"reranker": "fake", "revision": "r2"}
        assert self.hash_of(made=made) != self.hash_of()
