"""`/v1/rerank` and `/v2/rerank` as their clients know them: Cohere's SDK and plain requests in Jina's form."""

from collections.abc import Iterator
from typing import Any

import cohere
import httpx
import pytest
import requests
from cohere.core import ApiError

from tests.harness.processes import ServiceProcess, start, wait_ready
from tests.harness.stack import TIMEOUT_S, Stack, post

QUERY = "Which seal is approved for AX-104-B?"
DOCUMENTS = [
    "Spare diaphragms are stored flat, dark and dry for at most 24 months.",
    "The approved seal for AX-104-B is ZQ-77. It must not be used with chlorinated solvents.",
    " ",
    "Use grease LG-2 every 500 operating hours.",
]
MODEL = "late-interaction:all-minilm-l6-v2"
LONG = "Routine maintenance documentation contains general inspection information. " * 90 + DOCUMENTS[1]


@pytest.fixture(scope="module")
def windowed() -> Iterator[ServiceProcess]:
    """A reranker that reads long documents in windows."""
    service = start("reranker", {"RERANK_LONG_DOCUMENT": "windows"})
    try:
        wait_ready(service)
        yield service
    finally:
        service.stop()


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=TIMEOUT_S) as client:
        yield client


@pytest.fixture
def client(stack: Stack, http: httpx.Client) -> cohere.ClientV2:
    return cohere.ClientV2("any key", base_url=stack.reranker.url, httpx_client=http, max_retries=0)


class TestCohere:
    def test_v2(self, client: cohere.ClientV2) -> None:
        reply = client.rerank(model=MODEL, query=QUERY, documents=DOCUMENTS)
        assert reply.results[0].index == 1
        assert sorted(one.index for one in reply.results) == [0, 1, 2, 3]
        scores = [one.relevance_score for one in reply.results]
        assert scores == sorted(scores, reverse=True)
        assert reply.results[-1].index == 2
        assert reply.results[-1].fault["reason"] == "blank_text"  # type: ignore[attr-defined]
        assert reply.id
        assert reply.meta is not None

    def test_v2_with_top_n_and_max_tokens_per_doc(self, client: cohere.ClientV2) -> None:
        reply = client.rerank(model=MODEL, query=QUERY, documents=[LONG, *DOCUMENTS], top_n=2, max_tokens_per_doc=20)
        assert len(reply.results) == 2
        pairs = {one.index: one.pair for one in reply.results}  # type: ignore[attr-defined]
        assert pairs[2]["truncated"] is (pairs[2]["kept_spans"] != [[0, len(DOCUMENTS[1])]])
        for pair in pairs.values():
            assert pair["tokens_kept"] - pair["query_tokens"] - 2 <= 20

    def test_v1(self, stack: Stack, http: httpx.Client) -> None:
        old = cohere.Client("any key", base_url=stack.reranker.url, httpx_client=http)
        reply = old.rerank(model=MODEL, query=QUERY, documents=[{"text": text} for text in DOCUMENTS], top_n=1)
        assert [one.index for one in reply.results] == [1]
        assert reply.results[0].document is None

    @pytest.mark.parametrize(
        ("fields", "status"),
        [({"model": "rerank-v3.5"}, 404), ({"query": " "}, 422), ({"top_n": 0}, 422), ({"query": "seal " * 600}, 422)],
    )
    def test_what_is_refused_is_an_error_of_the_sdk(self, client: cohere.ClientV2, fields: Any, status: int) -> None:
        with pytest.raises(ApiError) as error:
            client.rerank(**{"model": MODEL, "query": QUERY, "documents": DOCUMENTS, **fields})
        assert error.value.status_code == status


class TestJina:
    @pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank"])
    def test_strings_and_objects_come_back_on_request(self, stack: Stack, path: str) -> None:
        documents = [DOCUMENTS[0], {"text": DOCUMENTS[1]}]
        body = {"model": MODEL, "query": QUERY, "documents": documents, "top_n": 1, "return_documents": True}
        reply = post(stack.reranker, path, body)
        assert reply.status_code == 200, reply.text
        made = reply.json()
        assert made["model"] == MODEL
        assert made["policy_hash"] == reply.headers["X-Policy-Hash"]
        (best,) = made["results"]
        assert (best["index"], best["document"]) == (1, {"text": DOCUMENTS[1]})
        assert best["pair"]["status"] == "exact"
        assert best["pair"]["kept_spans"] == [[0, len(DOCUMENTS[1])]]
        assert best["pair"]["truncated"] is False

    def test_without_a_model_and_without_documents(self, stack: Stack) -> None:
        made = post(stack.reranker, "/v1/rerank", {"query": QUERY, "documents": []}).json()
        assert made["results"] == []

    def test_an_unknown_field_is_refused_by_name(self, stack: Stack) -> None:
        reply = post(stack.reranker, "/v1/rerank", {"query": QUERY, "documents": ["x"], "max_chunks_per_doc": 3})
        assert reply.status_code == 422
        assert "max_chunks_per_doc" in reply.text


class TestLongDocuments:
    def test_what_stands_at_the_end_is_lost_by_a_cut_and_the_report_says_so(self, stack: Stack) -> None:
        made = post(stack.reranker, "/v1/rerank", {"query": QUERY, "documents": [LONG]}).json()
        pair = made["results"][0]["pair"]
        assert (pair["truncated"], pair["policy"]) == (True, "truncate")
        ((start_, end),) = pair["kept_spans"]
        assert "ZQ-77" not in LONG[start_:end]
        assert pair["tokens_kept"] == pair["query_tokens"] + 512 < pair["tokens_total"]

    def test_windows_find_it(self, windowed: ServiceProcess) -> None:
        made = post(windowed, "/v1/rerank", {"query": QUERY, "documents": [LONG, DOCUMENTS[0]]}).json()
        best = made["results"][0]
        assert best["index"] == 0
        windows = best["pair"]["windows"]
        winner = windows["windows"][windows["winner"]]
        assert "ZQ-77" in LONG[slice(*winner["span"])]
        assert winner["score"] == windows["max_score"] == best["relevance_score"]
        assert best["pair"]["truncated"] is False


def test_info_says_what_happens_to_long_documents(windowed: ServiceProcess) -> None:
    info = requests.get(f"{windowed.url}/info", timeout=TIMEOUT_S).json()
    assert info["policy"]["pairs"]["long_document"] == "windows"
    assert info["limits"]["pair_tokens"] == 1024
