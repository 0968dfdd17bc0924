"""What goes into each stage and what is taken out of it: a reply that can not be right is refused, never repaired."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from steelyard_chatqna.pipeline import embedding, reranker, retriever
from steelyard_chatqna.pipeline.integrity import EmbeddingMisalignedError
from steelyard_contracts.documents import SearchedMultimodalDoc
from steelyard_contracts.embeddings import EmbeddingResponse
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_contracts.reranking import RerankingResponse
from steelyard_contracts.vectors import Vector

from ..fakes import QUERY, QUESTION, ask, embedded, reranked, retrieved

Change = Callable[[dict[str, Any]], Any]


def bad(work: Callable[[], Any], stage: Stage) -> str:
    with pytest.raises(UpstreamError) as error:
        work()
    assert (error.value.code, error.value.stage) == (ErrorCode.UPSTREAM_BAD_REPLY, stage)
    return error.value.detail


class TestEmbedding:
    def test_the_question_alone_is_embedded(self) -> None:
        body = embedding.align_inputs(ask("Why?"))
        assert (body.input, body.encoding_format) == ("Why?", "base64")

    @pytest.mark.parametrize("form", [[1.0, 1.0], QUERY.to_base64()])
    def test_both_encodings_are_taken(self, form: Any) -> None:
        reply = embedded({})
        reply["data"][0]["embedding"] = form
        assert embedding.align_outputs(EmbeddingResponse.model_validate(reply)) == QUERY

    @pytest.mark.parametrize(
        "data",
        [
            [],
            [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}],
            [{"index": 1, "embedding": [1.0]}],
            [{"index": 0, "embedding": "no base64!"}],
            [{"index": 0, "embedding": "AAAA"}],
            [{"index": 0, "embedding": [1e300]}],
            [{"index": 0, "embedding": []}],
            [{"index": 0, "embedding": [0.0, 0.0]}],
            [{"index": 0, "embedding": "AADAfw=="}],
        ],
    )
    def test_a_reply_without_one_usable_vector_is_the_services_fault(self, data: Any) -> None:
        reply = EmbeddingResponse.model_validate(embedded({}) | {"data": data})
        assert "embedding" in bad(lambda: embedding.align_outputs(reply), Stage.EMBEDDING)


class TestRetriever:
    def test_the_effective_values_are_sent_and_absent_ones_are_not(self) -> None:
        body = retriever.align_inputs(ask(k=7, reranking_strategy="slice", top_n=2), QUERY)
        assert (body.text, body.embedding, body.k, body.top_n) == (QUESTION, QUERY, 7, 2)
        assert (body.reranking_strategy, body.scopes, body.search_type) == ("slice", ["public"], "hybrid")
        assert body.model_fields_set.isdisjoint({"fetch_k", "lambda_mult", "score_threshold", "distance_threshold"})

    def test_zeros_are_sent_as_zeros(self) -> None:
        body = retriever.align_inputs(ask(lambda_mult=0, score_threshold=0, distance_threshold=0), QUERY)
        assert (body.lambda_mult, body.score_threshold, body.distance_threshold) == (0, 0, 0)

    def found(self, change: Change = lambda reply: None) -> SearchedMultimodalDoc:
        reply = retrieved({"text": "q", "embedding": None})
        change(reply)
        return SearchedMultimodalDoc.model_validate(reply)

    def test_a_sound_reply_is_taken_as_it_is(self) -> None:
        found = self.found()
        assert retriever.align_outputs(ask(), found) is found

    def test_a_candidate_outside_the_scope_is_never_used(self) -> None:
        def leak(reply: dict[str, Any]) -> None:
            reply["metadata"][1]["scope"] = "internal"

        with pytest.raises(UpstreamError, match="1 candidates lie outside") as error:
            retriever.align_outputs(ask(), self.found(leak))
        assert (error.value.code, error.value.status) == (ErrorCode.SCOPE_UNKNOWN, 403)

    @pytest.mark.parametrize(
        "change",
        [
            lambda reply: reply["metadata"][0].update(char_end=reply["metadata"][0]["char_end"] + 1),
            lambda reply: reply["retrieved_docs"][2].update(text="another"),
            lambda reply: reply.update(outcome="degraded"),
            lambda reply: reply.update(degraded={"stage": "retriever", "reason": "r", "detail": "d"}),
        ],
    )
    def test_a_reply_that_contradicts_itself_is_refused(self, change: Change) -> None:
        found = self.found(change)
        assert "retriever" in bad(lambda: retriever.align_outputs(ask(), found), Stage.RETRIEVER)


class TestReranker:
    def found(self, strategy: str = "slice") -> SearchedMultimodalDoc:
        body = {"text": "q", "embedding": {"dim": 2, "base64": QUERY.to_base64()}, "reranking_strategy": strategy}
        return SearchedMultimodalDoc.model_validate(retrieved(body))

    def test_adaptive_sends_the_vectors_once_by_chunk_id_with_the_query_of_this_request(self) -> None:
        other = Vector.from_floats([3.0, 4.0])
        body = reranker.align_inputs(ask(reranking_strategy="adaptive"), other, self.found("adaptive"))
        assert body.embedding == other, "the query's vector is this request's own, not the retriever's echo"
        assert body.chunk_embeddings == {
            chunk_id: Vector.from_floats([1.0, float(number)]) for number, chunk_id in enumerate("abc")
        }
        assert body.metadata is not None
        assert all(entry.chunk_embedding is None for entry in body.metadata)

    @pytest.mark.parametrize("strategy", ["slice", "threshold", "slice_threshold", "knee_threshold"])
    def test_other_strategies_send_no_vector_even_if_some_came(self, strategy: str) -> None:
        body = reranker.align_inputs(ask(reranking_strategy=strategy), QUERY, self.found("adaptive"))
        assert (body.embedding, body.chunk_embeddings) == (None, None)
        assert all(entry.chunk_embedding is None for entry in body.metadata or [])

    def test_the_effective_rule_is_sent_with_zeros(self) -> None:
        made = ask(reranking_strategy="threshold", reranking_threshold=0, top_n=5)
        body = reranker.align_inputs(made, QUERY, self.found())
        assert (body.reranking_strategy, body.reranking_threshold, body.top_n) == ("threshold", 0, 5)
        assert body.initial_query == QUESTION

    def test_a_missing_vector_is_a_fault_of_the_data(self) -> None:
        found = self.found("adaptive")
        found.metadata[1] = found.metadata[1].model_copy(update={"chunk_embedding": None})
        with pytest.raises(EmbeddingMisalignedError, match="'b'"):
            reranker.align_inputs(ask(reranking_strategy="adaptive"), QUERY, found)

    def reply(self, change: Change = lambda reply: None) -> RerankingResponse:
        body = reranker.align_inputs(ask(reranking_strategy="slice"), QUERY, self.found())
        reply = copy.deepcopy(reranked(body.model_dump(mode="json", exclude_none=True)))
        change(reply)
        return RerankingResponse.model_validate(reply)

    def test_a_sound_reply_is_taken_as_it_is(self) -> None:
        reply = self.reply()
        assert reranker.align_outputs(ask(reranking_strategy="slice"), self.found(), reply) is reply

    @pytest.mark.parametrize(
        "change",
        [
            lambda reply: reply["ledger"].pop(),
            lambda reply: reply["ledger"].append({**reply["ledger"][2], "chunk_id": "z"}),
            lambda reply: reply["ledger"][2].update(chunk_id="z"),
            lambda reply: reply["ledger"].append(reply["ledger"][0]),
            lambda reply: reply["ledger"][2].update(chunk_id="a"),
            lambda reply: reply["reranked_docs"].pop(),
            lambda reply: reply["reranked_docs"].append({"id": "c", "text": "x", "rank": 3}),
            lambda reply: reply["reranked_docs"][1].update(id="c"),
            lambda reply: reply["reranked_docs"].__setitem__(1, {**reply["reranked_docs"][0], "rank": 2}),
            lambda reply: reply["reranked_docs"].reverse(),
            lambda reply: [doc.update(rank=3 - doc["rank"]) for doc in reply["reranked_docs"]],
            lambda reply: [doc.update(rank=1) for doc in reply["reranked_docs"]],
            lambda reply: reply["ledger"][0].update(rank=7),
            lambda reply: reply["reranked_docs"][0].update(text="changed"),
            lambda reply: reply["reranked_docs"][0].update(text=reply["reranked_docs"][1]["text"]),
            lambda reply: reply.update(strategy="threshold"),
            lambda reply: reply.update(outcome="degraded"),
            lambda reply: reply.update(degraded={"stage": "reranker", "reason": "r", "detail": "d"}),
        ],
    )
    def test_a_reply_that_does_not_account_for_each_candidate_once_is_refused(self, change: Change) -> None:
        reply = self.reply(change)
        said = bad(lambda: reranker.align_outputs(ask(reranking_strategy="slice"), self.found(), reply), Stage.RERANKER)
        assert "reranker" in said
