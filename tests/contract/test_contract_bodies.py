"""Three hundred bodies that no honest client sends, to every route that takes one: a refusal each, and never a 500."""

import base64
import struct
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.fuzz.bodies import bodies
from tests.harness.stack import TIMEOUT_S, Stack

BODIES = 300
VECTOR = base64.b64encode(struct.pack("<384f", *[0.05] * 384)).decode()
CANDIDATES = [{"id": "c1", "text": "The seal is ZQ-77."}, {"id": "c2", "text": "The bolts need 35 Nm."}]
OVERRIDES = {"k": 4, "top_n": 2, "reranking_strategy": "slice", "reranking_threshold": 0.0, "search_type": "hybrid",
             "scopes": ["public"], "fetch_k": 9, "lambda_mult": 0.5, "score_threshold": 0.0}  # fmt: skip
TURNS = [{"role": "user", "content": "Which seal?"}]
ROUTES: dict[str, tuple[str, Any]] = {
    "/v1/chat/completions": (
        "chatqna",
        {"messages": TURNS, "stream": False, "temperature": 0, "stop": ["x"], "logit_bias": {"1": 0.5}, **OVERRIDES},
    ),
    "/v1/chatqna": ("chatqna", {"messages": "Which seal?", "stream": True, "max_tokens": 5, "seed": 1, **OVERRIDES}),
    "/v1/inspect": ("chatqna", {"messages": TURNS, **OVERRIDES}),
    "/v1/replay": ("chatqna", {"ledger_id": "none", "strategy": "adaptive", "settings": {"token_cost_alpha": 0.1}}),
    "/v1/embeddings": ("embedding", {"input": ["a", "b"], "encoding_format": "base64"}),
    "/v1/retrieval": (
        "retriever",
        {"text": "seal", "embedding": VECTOR, "k": 4, "search_type": "hybrid", "scopes": ["public"]},
    ),
    "/v1/rerank": (
        "reranker", {"query": "seal", "documents": ["a", {"text": "b"}], "top_n": 1, "return_documents": True}
    ),
    "/v2/rerank": ("reranker", {"query": "seal", "documents": ["a", "b"], "top_n": 1}),
    "/v1/reranking": (
        "reranker",
        {"initial_query": "seal", "retrieved_docs": CANDIDATES, "top_n": 1, "reranking_strategy": "slice",
         "reranking_threshold": 0.0},
    ),
    "/v1/select": (
        "reranker",
        {"strategy": "slice", "top_n": 1, "settings": {"token_cost_alpha": 0.1},
         "candidates": [{"id": "a", "score": 0.5, "tokens": 9}, {"id": "b", "score": 0.1, "tokens": 0}]},
    ),
    "/v1/dataprep/get": ("dataprep", {"scopes": ["public"], "after": "a a.md", "limit": 5}),
    "/v1/dataprep/delete": ("dataprep", {"file_path": "nothing.md", "scopes": ["public"]}),
    "/v1/dataprep/ingest": ("dataprep", {"files": []}),
}  # fmt: skip
INTEGRITY = "embedding_misaligned"
"""The one error of status 500 that a body can ask for: `adaptive` without its vectors, which nobody guesses."""


def form(part: bytes) -> bytes:
    """A multipart body whose one file is `part`, with everything around it that the corpus may have broken."""
    return b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.md"\r\n\r\n' + part + b"\r\n--b--\r\n"


@pytest.mark.parametrize("path", ROUTES)
def test_no_body_makes_a_server_error(stack: Stack, path: str) -> None:
    service, right = ROUTES[path]
    url = getattr(stack, service).url + path
    multipart = path.endswith("/ingest")
    content_type = "multipart/form-data; boundary=b" if multipart else "application/json"
    made = bodies(right, BODIES, seed=len(path))
    assert len(set(made)) == BODIES
    with requests.Session() as session, ThreadPoolExecutor(4) as pool:

        def send(body: bytes) -> str | None:
            headers = {"Content-Type": content_type, "X-Deadline-Ms": "60000"}
            reply = session.post(url, data=body, headers=headers, timeout=TIMEOUT_S)
            if reply.status_code < 400:
                return None
            problem = reply.json()
            code = problem.get("code") or problem["error"]["code"]
            wrong = reply.status_code >= 500 and code != INTEGRITY
            return f"{reply.status_code} {code} for {body[:300]!r}" if wrong else None

        found = [fault for fault in pool.map(send, made) if fault]
    assert found == []


def test_what_is_right_is_taken(stack: Stack) -> None:
    refused = {}
    for path, (service, right) in ROUTES.items():
        reply = requests.post(getattr(stack, service).url + path, json=right, timeout=TIMEOUT_S)
        if reply.status_code >= 400:
            refused[path] = reply.json().get("code")
    assert refused == {
        "/v1/replay": "not_found", "/v1/dataprep/delete": "not_found", "/v1/dataprep/ingest": "invalid_request",
    }  # fmt: skip
