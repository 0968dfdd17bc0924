"""Floors, scores, selection and degradation: what is kept, why the rest is dropped, and that all are accounted for."""

import itertools

import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError

from .fake_backend import query_vector, request, vectors
from .ranking_requests import COSINES, DOWN, SCORES, TEXTS, bench, kept, reasons, rerank


def test_candidates_are_ordered_by_rerank_score_and_cut_to_top_n() -> None:
    made = bench()
    reply = rerank(made, request(TEXTS, COSINES, id="x"))
    assert kept(reply) == ["b", "c"]
    assert [doc.score for doc in reply.reranked_docs] == [0.9, 0.6]
    assert (reply.outcome, reply.score_kind, reply.strategy, reply.id) == ("ok", "rerank", "slice", "x")
    assert reply.degraded is None
    assert made.backend.seen == [("the query", list(TEXTS.values()))]
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
        made.backend.fault = DOWN
        reply = rerank(made, request({}, reranking_strategy=strategy))
        assert (reply.outcome, reply.ledger, made.backend.seen) == ("empty", [], [])


def test_a_blank_query_is_refused_before_the_backend() -> None:
    made = bench()
    with pytest.raises(SteelyardError, match="initial_query: is blank") as error:
        rerank(made, request(TEXTS, COSINES, initial_query=" \t"))
    assert error.value.code is ErrorCode.INVALID_REQUEST
    assert made.backend.seen == []


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
        assert made.backend.seen == [("the query", ["alpha text", "beta text", "gamma text"])]
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
        assert (reply.outcome, made.backend.seen) == ("empty", [])

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
        made.backend.scored = dict.fromkeys(SCORES, 0.01)
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
        assert made.backend.seen == [("the query", list(TEXTS.values()))]
        assert (reasons(reply)["x"], reasons(reply)["y"]) == ("blank_text", "blank_text")
        assert [one.chunk_id for one in reply.ledger][-2:] == ["x", "y"]

    def test_only_blank_texts_ask_no_backend_and_are_empty(self) -> None:
        made = bench()
        made.backend.fault = DOWN
        reply = rerank(made, request({"x": " ", "y": "\u3000"}, {"x": 0.9}))
        assert (reply.outcome, made.backend.seen) == ("empty", [])


class TestTheCap:
    def test_it_cuts_the_copy_only(self) -> None:
        made = bench(rerank_max_chars_per_doc=5, reranker_top_n=4)
        made.backend.scored = {}
        query = "a query that is longer than the cap"
        reply = rerank(made, request(TEXTS, COSINES, initial_query=query))
        assert made.backend.seen == [(query, ["alpha", "beta ", "gamma", "delta"])]
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
        assert made.backend.seen == [("the query", ["alph"])]
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
