"""embedding -> retriever: what one says the other understands, and vectors stay aligned with their chunks."""

import base64

import numpy as np
import pytest

from tests.harness.stack import Stack, post

QUESTION = "Which seal is approved for AX-104-B?"


def floats(encoded: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(encoded), dtype="<f4")


def test_the_right_chunk_is_first(stack: Stack) -> None:
    found = stack.retrieve(QUESTION, k=3).json()
    assert "ZQ-77" in found["retrieved_docs"][0]["text"]
    assert found["outcome"] == "ok"
    assert found["score_kind"] == "cosine"
    cosines = [entry["scores"]["cosine"] for entry in found["metadata"]]
    assert cosines == sorted(cosines, reverse=True)


def test_a_json_list_and_base64_find_the_same(stack: Stack) -> None:
    encoded = stack.embed(QUESTION)
    as_list = post(stack.retriever, "/v1/retrieval", {"text": QUESTION, "embedding": floats(encoded).tolist(), "k": 4})
    as_text = post(stack.retriever, "/v1/retrieval", {"text": QUESTION, "embedding": encoded, "k": 4})
    assert as_list.json()["metadata"] == as_text.json()["metadata"]


def test_opeas_embed_doc_is_taken_as_it_comes(stack: Stack) -> None:
    embedded = post(stack.embedding, "/v1/embeddings", {"text": QUESTION}).json()
    assert isinstance(embedded["embedding"], list)
    found = post(stack.retriever, "/v1/retrieval", embedded)
    assert found.status_code == 200, found.text
    assert "ZQ-77" in found.json()["retrieved_docs"][0]["text"]


def test_adaptive_brings_each_chunks_own_embedding(stack: Stack) -> None:
    found = stack.retrieve(QUESTION, k=5, reranking_strategy="adaptive").json()
    assert len(found["metadata"]) == len(found["retrieved_docs"]) >= 4
    for doc, entry in zip(found["retrieved_docs"], found["metadata"], strict=True):
        assert entry["chunk_id"] == doc["id"]
        stored = floats(entry["chunk_embedding"]["base64"])
        assert entry["chunk_embedding"]["dim"] == len(stored)
        assert float(stored @ floats(stack.embed(doc["text"]))) == pytest.approx(1.0, abs=1e-4)
    assert found["embedding"]["base64"] == stack.embed(QUESTION)


@pytest.mark.parametrize("strategy", ["slice", "threshold", "slice_threshold", "knee_threshold"])
def test_no_embedding_crosses_the_wire_for_other_strategies(stack: Stack, strategy: str) -> None:
    reply = stack.retrieve(QUESTION, k=5, reranking_strategy=strategy)
    assert reply.status_code == 200
    assert "embedding" not in reply.json()
    assert all("chunk_embedding" not in entry for entry in reply.json()["metadata"])


@pytest.mark.parametrize("search_type", ["similarity", "mmr", "hybrid"])
def test_every_candidate_carries_its_cosine(stack: Stack, search_type: str) -> None:
    found = stack.retrieve(QUESTION, k=5, search_type=search_type).json()
    assert found["score_kind"] == ("rrf" if search_type == "hybrid" else "cosine")
    query = floats(stack.embed(QUESTION))
    for doc, entry in zip(found["retrieved_docs"], found["metadata"], strict=True):
        assert entry["scores"]["cosine"] == pytest.approx(float(query @ floats(stack.embed(doc["text"]))), abs=1e-4)


def test_thresholds_of_zero_are_thresholds(stack: Stack) -> None:
    everything = stack.retrieve(QUESTION, k=20).json()["metadata"]
    positive = [entry for entry in everything if entry["scores"]["cosine"] >= 0]
    found = stack.retrieve(QUESTION, k=20, search_type="similarity_score_threshold", score_threshold=0).json()
    assert len(found["metadata"]) == len(positive)
    found = stack.retrieve(QUESTION, k=20, search_type="similarity_distance_threshold", distance_threshold=0).json()
    assert found["outcome"] == "empty"


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"embedding": [1.0, 2.0]}, 422, "dimension_mismatch"),
        ({"embedding": [0.0] * 384}, 422, "invalid_request"),
        ({"k": -1}, 422, "invalid_request"),
        ({"k": True}, 422, "invalid_request"),
        ({"top_k": 3}, 422, "invalid_request"),
        ({"text": "  "}, 422, "invalid_request"),
        ({"search_type": "similarity_distance_threshold"}, 422, "invalid_request"),
        ({"search_type": "best"}, 422, "invalid_request"),
        ({"search_type": "hierarchical", "hierarchical_mode": "slow"}, 422, "invalid_request"),
        ({"search_type": "hierarchical", "hierarchical_mode": "thinking", "text": ""}, 422, "invalid_request"),
        ({"reranking_strategy": "adaptve"}, 422, "invalid_request"),
        ({"scopes": []}, 403, "scope_required"),
        ({"scopes": ["secret"]}, 403, "scope_unknown"),
    ],
)
def test_bad_input_gets_its_own_error(stack: Stack, fields: dict[str, object], status: int, code: str) -> None:
    body = {"text": QUESTION, "embedding": stack.embed(QUESTION), **fields}
    reply = post(stack.retriever, "/v1/retrieval", body)
    assert reply.status_code == status, reply.text
    problem = reply.json()
    assert problem["code"] == code
    assert problem["stage"] == "retriever"
    assert QUESTION not in reply.text


def test_another_scope_sees_nothing_of_this_one(stack: Stack) -> None:
    seen = stack.retrieve(QUESTION, k=50, search_type="hybrid", scopes=["internal"]).json()
    assert {entry["scope"] for entry in seen["metadata"]} <= {"internal"}
    nowhere = stack.retrieve(QUESTION, k=50, scopes=["internal"], constraints={"sources": ["handbook.md"]}).json()
    assert nowhere["retrieved_docs"] == []
    assert nowhere["outcome"] == "empty"
