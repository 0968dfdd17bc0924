"""The running stack as a snapshot: what is asked of it, and what of its answers is frozen."""

import json

import pytest

from steelyard_cli.errors import BrokenReplyError, RequestRefusedError
from steelyard_cli.gateway.client import Service
from steelyard_cli.stack.snapshot import StackSnapshot
from steelyard_contracts.enums import SearchType
from steelyard_evidence.errors import RunError
from steelyard_models.tokenizer import TextTokenizer
from tests.unit.cli.doubles import problem
from tests.unit.evidence.tiny_tokenizers import word_tokenizer

VECTOR = [0.5, 0.25]


def entry(name, text, **changes):
    return {
        "chunk_id": name,
        "document_id": "d",
        "revision": "r2",
        "source": "a.md",
        "scope": "team",
        "char_start": 4,
        "char_end": 4 + len(text),
        "scores": {"cosine": 0.5},
        "chunk_embedding": VECTOR,
        **changes,
    }


def reply(body):
    return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()


def found(*texts, **changes):
    return {
        "retrieved_docs": [{"id": f"c{n}", "text": text} for n, text in enumerate(texts)],
        "metadata": [entry(f"c{n}", text) for n, text in enumerate(texts)],
        "initial_query": "Which?",
        **changes,
    }


@pytest.fixture
def snapshot(double, tmp_path):
    double.routes["POST /v1/embeddings"] = reply(
        {
            "object": "list",
            "data": [{"object": "embedding", "index": 0, "embedding": VECTOR}],
            "model": "mini",
            "model_revision": "abc",
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }
    )
    services = [Service(name, double.url, timeout_s=5) for name in ("embedding", "retriever")]
    return StackSnapshot(*services, TextTokenizer(word_tokenizer(tmp_path)), SearchType.HYBRID)


def test_a_query_that_is_too_long_is_the_data_sets_fault_and_no_other_refusal_is(snapshot, double):
    double.routes["POST /v1/embeddings"] = (422, {}, problem("text_too_long", "input.0 has 702 tokens"))
    with pytest.raises(RunError, match="702 tokens"):
        snapshot.retrieve("Which?", 7)
    double.routes["POST /v1/embeddings"] = (503, {}, problem("not_ready", "the model is loading"))
    with pytest.raises(RequestRefusedError, match="not_ready"):
        snapshot.retrieve("Which?", 7)


def test_candidates_are_frozen_as_they_came(snapshot, double):
    double.routes["POST /v1/retrieval"] = reply(found("one two three", "four"))
    retrieved = snapshot.retrieve("Which?", 7)
    first, second = retrieved.candidates
    assert (first.id, first.text, first.revision, first.scope, first.char_start) == (
        "c0",
        "one two three",
        "r2",
        "team",
        4,
    )
    assert (first.tokens, second.tokens) == (3, 1)
    assert first.embedding.to_floats() == VECTOR
    assert retrieved.embedding.to_floats() == VECTOR
    assert (snapshot.embedding_model.name, snapshot.embedding_model.sha256) == ("mini", "abc")
    asked = double.calls[-1].json()
    assert (asked["k"], asked["search_type"], asked["reranking_strategy"]) == (7, "hybrid", "adaptive")
    assert snapshot.preprocessing == "as ingested, searched hybrid"


def test_the_revision_is_that_of_what_was_seen(snapshot, double):
    double.routes["POST /v1/retrieval"] = reply(found("one"))
    snapshot.retrieve("Which?", 1)
    before = snapshot.corpus_revision()
    double.routes["POST /v1/retrieval"] = reply(found("one", metadata=[entry("c0", "one", revision="r3")]))
    snapshot.retrieve("Which?", 1)
    assert snapshot.corpus_revision() != before


def test_a_degraded_answer_is_not_frozen(snapshot, double):
    degraded = {"stage": "retriever", "reason": "lexical_search_failed", "detail": "x"}
    double.routes["POST /v1/retrieval"] = reply(found("one", outcome="degraded", degraded=degraded))
    with pytest.raises(BrokenReplyError, match="lexical_search_failed"):
        snapshot.retrieve("Which?", 1)


def test_the_model_is_unknown_before_anything_was_asked(snapshot):
    with pytest.raises(BrokenReplyError, match="has not been asked"):
        _ = snapshot.embedding_model
