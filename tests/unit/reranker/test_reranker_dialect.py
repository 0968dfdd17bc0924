"""`/v1/rerank`: order, blank documents, top_n, and honest errors, since this dialect can not say "degraded"."""

import asyncio
from typing import Any

import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.reranking import RerankRequest, RerankResponse
from steelyard_reranker.backends.port import RerankBackendError
from steelyard_reranker.dialect import rank_documents
from steelyard_reranker.row_fault import RowFault
from steelyard_runtime.blocking import Workers
from steelyard_runtime.policy import policy_hash

from .fake_backend import Bench, FakeBackend

DOCUMENTS = ["low", "high", "middle"]
SCORES = {"low": 0.1, "high": 0.9, "middle": 0.5, "worthless": 0.0}


def rank(
    documents: Any = None, fault: Any = None, settings: Any = None, policy: Any = None, **fields: Any
) -> RerankResponse:
    made = Bench(FakeBackend(dict(SCORES), fault), settings or {})
    body = RerankRequest.model_validate(
        {"query": "q", "documents": DOCUMENTS if documents is None else documents} | fields
    )

    async def run() -> RerankResponse:
        planning = Workers("planning", 1)
        try:
            return await rank_documents(body, made.judge(planning), lambda: policy or {"a": "policy"})
        finally:
            planning.close()

    return asyncio.run(run())


def order(reply: RerankResponse) -> list[int]:
    return [one.index for one in reply.results]


def test_the_best_comes_first_under_its_own_index() -> None:
    reply = rank()
    assert [(one.index, one.relevance_score) for one in reply.results] == [(1, 0.9), (2, 0.5), (0, 0.1)]
    assert reply.model == "fake"
    assert reply.policy_hash == policy_hash({"a": "policy"})
    assert all(one.document is None for one in reply.results)
    assert reply.results[0].pair is not None


def test_the_hash_is_of_the_policy_that_the_documents_were_scored_with() -> None:
    known = {"revision": "unknown"}

    def named(scores: list[float]) -> list[float]:
        known["revision"] = "r1"
        return scores

    assert rank(fault=named, policy=known).policy_hash == policy_hash({"revision": "r1"})


def test_ties_stay_in_the_order_given() -> None:
    assert order(rank(["same", "high", "same", "same"])) == [1, 0, 2, 3]


@pytest.mark.parametrize(("top_n", "expected"), [(None, [1, 2, 0]), (1, [1]), (2, [1, 2]), (9, [1, 2, 0])])
def test_top_n_cuts_after_sorting(top_n: int | None, expected: list[int]) -> None:
    assert order(rank(top_n=top_n)) == expected


def test_documents_are_returned_on_request_byte_for_byte() -> None:
    documents: list[Any] = ["low", {"text": "  high  "}, " "]
    reply = rank(documents, return_documents=True, settings={"rerank_max_chars_per_doc": 2})
    texts = {one.index: one.document.text for one in reply.results if one.document is not None}
    assert texts == {0: "low", 1: "  high  ", 2: " "}


def test_blank_documents_score_zero_come_last_and_are_not_sent() -> None:
    reply = rank(["", "low", " \n", "high"])
    assert order(reply) == [3, 1, 0, 2]
    assert [one.relevance_score for one in reply.results[2:]] == [0.0, 0.0]
    assert [one.pair for one in reply.results[2:]] == [None, None]
    assert [one.fault and one.fault.reason for one in reply.results] == [None, None, "blank_text", "blank_text"]


def test_a_blank_document_comes_after_one_that_scores_zero() -> None:
    assert order(rank([" ", "worthless"])) == [1, 0]


def test_only_blank_documents_ask_no_backend() -> None:
    reply = rank([" ", ""], fault=RerankBackendError("unreachable", "down"))
    assert order(reply) == [0, 1]


def test_no_documents_are_no_results() -> None:
    assert rank([]).results == []


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"query": " "}, ErrorCode.INVALID_REQUEST),
        ({"model": "another"}, ErrorCode.MODEL_NOT_FOUND),
    ],
)
def test_what_can_not_be_ranked_is_refused(fields: dict[str, Any], code: ErrorCode) -> None:
    with pytest.raises(SteelyardError) as error:
        rank(**fields)
    assert error.value.code is code


def test_the_models_own_name_and_what_has_no_effect_are_accepted() -> None:
    assert order(rank(model="fake", priority=3, max_tokens_per_doc=None)) == [1, 2, 0]


@pytest.mark.parametrize("fault", [RerankBackendError("unreachable", "down"), lambda judged: judged[:-1], OSError()])
def test_a_failing_backend_is_an_error_whatever_the_policy(fault: Any) -> None:
    with pytest.raises(RerankBackendError):
        rank(fault=fault, settings={"rerank_failure_policy": "degrade"})


def test_a_document_that_was_not_scored_says_why_and_comes_before_the_blank_ones() -> None:
    reply = rank(["", "low", "worthless", "high"], fault=lambda scores: [RowFault("refused", "no"), *scores[1:]])
    assert [(one.index, one.relevance_score) for one in reply.results] == [(3, 0.9), (2, 0.0), (1, 0.0), (0, 0.0)]
    assert [one.fault and one.fault.reason for one in reply.results] == [None, None, "refused", "blank_text"]
    assert [one.pair is None for one in reply.results] == [False, False, True, True]


def test_max_tokens_per_doc_cuts_the_copy_is_reported_and_is_part_of_the_policy() -> None:
    reply = rank(["one two three four", "high"], max_tokens_per_doc=2, return_documents=True)
    pairs = {one.index: one.pair for one in reply.results}
    cut, whole = pairs[0], pairs[1]
    assert cut is not None
    assert whole is not None
    assert (cut.tokens_total, cut.tokens_kept, cut.truncated, cut.kept_spans) == (5, 3, True, [(0, 7)])
    assert not whole.truncated
    assert {one.index: one.document and one.document.text for one in reply.results}[0] == "one two three four"
    assert reply.policy_hash not in (rank().policy_hash, rank(max_tokens_per_doc=3).policy_hash)
