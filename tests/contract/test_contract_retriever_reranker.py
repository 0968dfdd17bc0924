"""retriever -> reranker: the reply of one is a request of the other, unchanged."""

from typing import Any

import pytest
import requests

from steelyard_contracts.ledger import LedgerEntry, totals
from steelyard_runtime.policy import policy_hash
from tests.harness.stack import TIMEOUT_S, Stack, post

QUESTION = "Which seal is approved for AX-104-B?"


def ledger_of(reply: dict[str, Any]) -> list[LedgerEntry]:
    return [LedgerEntry.model_validate(entry) for entry in reply["ledger"]]


@pytest.mark.parametrize("strategy", ["slice", "threshold", "slice_threshold", "knee_threshold", "adaptive"])
def test_the_retrievers_reply_can_be_posted_as_it_is(stack: Stack, strategy: str) -> None:
    found = stack.retrieve(QUESTION, k=6, reranking_strategy=strategy).json()
    reply = post(stack.reranker, "/v1/reranking", {**found, "reranking_strategy": strategy})
    assert reply.status_code == 200, reply.text
    body = reply.json()
    assert reply.headers["X-Policy-Hash"] == body["policy_hash"]
    counted = totals(ledger_of(body))
    assert counted.retrieved == len(found["retrieved_docs"])
    assert counted.retrieved == counted.sent + sum(counted.dropped.values())
    assert counted.sent == len(body["reranked_docs"])
    assert body["strategy"] == strategy
    assert body["score_kind"] == "rerank"
    texts = {doc["id"]: doc["text"] for doc in found["retrieved_docs"]}
    assert all(doc["text"] == texts[doc["id"]] for doc in body["reranked_docs"])
    assert "ZQ-77" in body["reranked_docs"][0]["text"]


def test_adaptive_shows_every_number_of_its_formula(stack: Stack) -> None:
    found = stack.retrieve(QUESTION, k=6, reranking_strategy="adaptive").json()
    body = post(stack.reranker, "/v1/reranking", {**found, "reranking_strategy": "adaptive"}).json()
    weighed = [entry for entry in ledger_of(body) if entry.value is not None]
    assert weighed
    lengths = {doc["id"]: len(doc["text"]) for doc in found["retrieved_docs"]}
    for entry in weighed:
        terms = entry.value
        assert terms is not None
        assert terms.utility == pytest.approx(terms.relevance * terms.novelty_weight)
        assert terms.cost == pytest.approx(terms.token_cost + terms.confusion_cost)
        assert terms.value == pytest.approx(terms.utility - terms.cost)
        assert entry.pair is not None
        assert entry.pair.kept_spans == [(0, lengths[entry.chunk_id])]


def _without_one_vector(found: dict[str, Any]) -> None:
    del found["metadata"][1]["chunk_embedding"]


def _without_query(found: dict[str, Any]) -> None:
    del found["embedding"]


def _short_vector(found: dict[str, Any]) -> None:
    found["metadata"][0]["chunk_embedding"] = [1.0, 0.0]


def _zero_vector(found: dict[str, Any]) -> None:
    found["metadata"][0]["chunk_embedding"] = [0.0] * 384


def _infinite_vector(found: dict[str, Any]) -> None:
    # The bytes of float32 infinity, 384 times.
    import base64

    found["metadata"][0]["chunk_embedding"] = base64.b64encode(b"\x00\x00\x80\x7f" * 384).decode()


@pytest.mark.parametrize("spoil", [_without_one_vector, _without_query, _short_vector, _zero_vector, _infinite_vector])
def test_adaptive_fails_hard_on_a_spoiled_embedding(stack: Stack, spoil: Any) -> None:
    found = stack.retrieve(QUESTION, k=4, reranking_strategy="adaptive").json()
    spoil(found)
    reply = post(stack.reranker, "/v1/reranking", {**found, "reranking_strategy": "adaptive"})
    assert reply.status_code == 500
    assert reply.json()["code"] == "embedding_misaligned"
    untouched = post(stack.reranker, "/v1/reranking", {**found, "reranking_strategy": "slice"})
    assert untouched.status_code == 200


def test_a_stray_embedding_is_misaligned_too(stack: Stack) -> None:
    found = stack.retrieve(QUESTION, k=3, reranking_strategy="adaptive").json()
    vectors = {entry["chunk_id"]: entry.pop("chunk_embedding") for entry in found["metadata"]}
    vectors["another"] = next(iter(vectors.values()))
    reply = post(
        stack.reranker, "/v1/reranking", {**found, "reranking_strategy": "adaptive", "chunk_embeddings": vectors}
    )
    assert reply.status_code == 500
    assert reply.json()["code"] == "embedding_misaligned"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body.update(metadata=body["metadata"][:-1]),
        lambda body: body["metadata"].reverse(),
        lambda body: body["metadata"][0].update(chunk_id=body["metadata"][1]["chunk_id"]),
        lambda body: body.update(reranking_strategy="best"),
        lambda body: body.update(top_n=0),
        lambda body: body.update(unknown=1),
        lambda body: body["retrieved_docs"][0].update(score=1),
    ],
)
def test_misaligned_or_unknown_fields_are_refused(stack: Stack, spoil: Any) -> None:
    body = {**stack.retrieve(QUESTION, k=4, reranking_strategy="slice").json(), "reranking_strategy": "slice"}
    spoil(body)
    reply = post(stack.reranker, "/v1/reranking", body)
    assert reply.status_code == 422, reply.text


def test_duplicate_texts_stay_two_candidates(stack: Stack) -> None:
    docs = [
        {"id": "a", "text": "The seal is ZQ-77."},
        {"id": "b", "text": "The seal is ZQ-77."},
        {"id": "c", "text": " "},
    ]
    body = post(
        stack.reranker,
        "/v1/reranking",
        {"initial_query": QUESTION, "retrieved_docs": docs, "reranking_strategy": "slice", "top_n": 3},
    ).json()
    assert [doc["id"] for doc in body["reranked_docs"]] == ["a", "b"]
    assert {entry["chunk_id"]: entry["reason"] for entry in body["ledger"]} == {
        "a": "selected",
        "b": "selected",
        "c": "blank_text",
    }
    assert "pair" not in next(entry for entry in body["ledger"] if entry["chunk_id"] == "c")


def test_nothing_in_nothing_out(stack: Stack) -> None:
    body = post(stack.reranker, "/v1/reranking", {"initial_query": QUESTION, "retrieved_docs": []}).json()
    assert body["outcome"] == "empty"
    assert body["ledger"] == []


def test_a_reply_without_overrides_has_the_policy_hash_of_info(stack: Stack) -> None:
    info = requests.get(f"{stack.reranker.url}/info", timeout=TIMEOUT_S)
    body = {"initial_query": QUESTION, "retrieved_docs": [{"id": "c1", "text": "A pump."}]}
    vectors = {"embedding": [1.0, 0.0], "chunk_embeddings": {"c1": [0.0, 1.0]}}
    own = post(stack.reranker, "/v1/reranking", {**body, **vectors}).json()
    assert own["policy_hash"] == info.json()["policy_hash"] == info.headers["X-Policy-Hash"]
    assert policy_hash(info.json()["policy"]) == own["policy_hash"]
    other = post(stack.reranker, "/v1/reranking", {**body, "reranking_strategy": "slice"}).json()
    assert other["policy_hash"] != own["policy_hash"]


def test_the_settings_of_a_reply_can_be_selected_with(stack: Stack) -> None:
    body = {"initial_query": QUESTION, "retrieved_docs": [{"id": "c1", "text": "A pump."}], "top_n": 2}
    settings = post(stack.reranker, "/v1/reranking", {**body, "reranking_strategy": "slice"}).json()["settings"]
    again = {name: settings.pop(name) for name in ("top_n", "threshold")}
    assert type(again["top_n"]) is int
    reply = post(stack.reranker, "/v1/select", {"strategy": "slice", "candidates": [], "settings": settings, **again})
    assert reply.status_code == 200, reply.text
