"""retriever -> reranker in search type `hierarchical`: both read the same tree, and a cut binds at every level."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from anyio.from_thread import start_blocking_portal

from steelyard_contracts.documents import SearchedMultimodalDoc
from tests.harness.processes import ServiceProcess, start, wait_ready
from tests.harness.rerank_doubles.tei import TeiDouble
from tests.harness.stack import Stack, post

QUESTION = "Which seal is approved for AX-104-B?"
CAP = 24


def found_by(stack: Stack, mode: str, **fields: Any) -> dict[str, Any]:
    reply = stack.retrieve(QUESTION, k=4, search_type="hierarchical", hierarchical_mode=mode, **fields)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


@pytest.mark.parametrize("mode", ["quick", "thinking"])
def test_the_answer_comes_first_with_the_way_to_it(stack: Stack, mode: str) -> None:
    found = found_by(stack, mode, reranking_strategy="slice")
    assert "ZQ-77" in found["retrieved_docs"][0]["text"]
    assert (found["outcome"], found["score_kind"], found["tree"]["mode"]) == ("ok", "tree", mode)
    assert (found["tree"]["reranked"] > 0) is (mode == "thinking")
    for entry in found["metadata"]:
        assert entry["parents"][-1]["node_id"] == entry["parent_id"]
        assert set(entry["scores"]) == {"tree", "cosine"}
    scores = [entry["scores"]["tree"] for entry in found["metadata"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("strategy", ["slice", "adaptive"])
def test_the_reply_can_be_reranked_as_it_is(stack: Stack, strategy: str) -> None:
    found = found_by(stack, "thinking", reranking_strategy=strategy)
    SearchedMultimodalDoc.model_validate(found)
    reply = post(stack.reranker, "/v1/reranking", {**found, "reranking_strategy": strategy})
    assert reply.status_code == 200, reply.text
    assert "ZQ-77" in reply.json()["reranked_docs"][0]["text"]


@pytest.mark.parametrize("mode", ["quick", "thinking"])
def test_the_gateway_passes_the_mode_on(stack: Stack, mode: str) -> None:
    body = {"messages": QUESTION, "search_type": "hierarchical", "hierarchical_mode": mode, "stream": False}
    reply = post(stack.chatqna, "/v1/chatqna", body)
    assert reply.status_code == 200, reply.text
    assert "ZQ-77" in reply.text


@pytest.fixture
def tei() -> Iterator[TeiDouble]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(TeiDouble()) as double:
        yield double


@pytest.fixture
def capped(stack: Stack, tei: TeiDouble) -> Iterator[ServiceProcess]:
    """A retriever whose reranker shows its model server at most the first few characters of a text."""
    reranker = start("reranker", {"RERANK_BACKEND": "tei", "RERANK_URL": tei.url, "RERANK_MAX_CHARS_PER_DOC": str(CAP)})
    store = str(Path(stack.folder) / "store.db")
    retriever = start(
        "retriever",
        {
            "STORE_PATH": store,
            "EMBEDDING_URL": stack.embedding.url,
            "RERANKER_URL": reranker.url,
            "STEELYARD_SCOPES": "public,internal",
        },
    )
    try:
        wait_ready(retriever)
        wait_ready(reranker)
        yield retriever
    finally:
        retriever.stop()
        reranker.stop()


def test_max_chars_per_doc_binds_abstracts_and_chunks_and_the_reply_stays_whole(
    stack: Stack, capped: ServiceProcess, tei: TeiDouble
) -> None:
    body = {"text": QUESTION, "embedding": stack.embed(QUESTION), "search_type": "hierarchical", "k": 8}
    reply = requests.post(f"{capped.url}/v1/retrieval", json={**body, "hierarchical_mode": "thinking"}, timeout=60)
    assert reply.status_code == 200, reply.text
    found = reply.json()
    assert found["outcome"] == "ok"
    batches = [call["texts"] for call in tei.calls]
    assert len(batches) == 1 + found["tree"]["rounds"]
    # Other tests have left texts in the store that are shorter than the cap.
    assert max(len(text) for batch in batches for text in batch) == CAP
    assert any(text.startswith("Pump AX-104 > Seals\n"[:CAP]) for text in batches[0])
    whole = [doc["text"] for doc in found["retrieved_docs"] if len(doc["text"]) > CAP]
    assert whole
    assert any(text[:CAP] in batch for batch in batches[1:] for text in whole)


@pytest.mark.parametrize("spoilt", [1, 2])
def test_a_rerank_that_fails_at_any_level_gives_the_quick_search_flagged(
    stack: Stack, capped: ServiceProcess, tei: TeiDouble, spoilt: int
) -> None:
    body = {"text": QUESTION, "embedding": stack.embed(QUESTION), "search_type": "hierarchical", "k": 8}
    quick = requests.post(f"{capped.url}/v1/retrieval", json=body, timeout=60).json()
    tei.alter = lambda rows: rows if len(tei.calls) < spoilt else rows[1:]
    reply = requests.post(f"{capped.url}/v1/retrieval", json={**body, "hierarchical_mode": "thinking"}, timeout=60)
    assert reply.status_code == 200, reply.text
    found = reply.json()
    assert found["outcome"] == "degraded"
    assert found["degraded"]["reason"] == "hierarchical_rerank_failed"
    assert found["tree"]["mode"] == "quick"
    assert found["metadata"] == quick["metadata"]
