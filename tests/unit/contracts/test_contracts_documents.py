"""Documents and their metadata: alignment by chunk id, OPEA's shapes, falsy overrides, no silent loss."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from steelyard_contracts.documents import CandidateMetadata, EmbedDoc, SearchedMultimodalDoc, TextDoc
from steelyard_contracts.enums import ScoreKind, SearchType, Strategy
from steelyard_contracts.reranking import RerankingRequest
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_contracts.vectors import Vector

CANARY = "CANARY-7f3a"


def entry(chunk_id: str, **more: Any) -> dict[str, Any]:
    return {
        "chunk_id": chunk_id,
        "document_id": "d",
        "revision": "r",
        "source": "s.md",
        "char_start": 0,
        "char_end": 4,
        "scope": "public",
        **more,
    }


def doc(chunk_id: str | None, text: str = "text") -> dict[str, Any]:
    return {"text": text} if chunk_id is None else {"id": chunk_id, "text": text}


def fault_types(model: type[BaseModel], value: Any) -> set[str]:
    with pytest.raises(ValidationError) as refusal:
        model.model_validate(value)
    assert CANARY not in str([(fault["loc"], fault["msg"]) for fault in refusal.value.errors()])
    return {fault["type"] for fault in refusal.value.errors()}


def reranking(docs: list[Any], metadata: Any = None, **more: Any) -> dict[str, Any]:
    value = {"initial_query": "q", "retrieved_docs": docs, **more}
    return value if metadata is None else {**value, "metadata": metadata}


ALIGNED = [SearchedMultimodalDoc, RerankingRequest]


@pytest.mark.parametrize("model", ALIGNED)
@pytest.mark.parametrize(
    ("ids", "entries"),
    [
        ([CANARY, "b"], [CANARY]),
        ([CANARY], [CANARY, "b"]),
        ([CANARY, "b"], []),
        ([], [CANARY]),
        (["a", CANARY], [CANARY, "a"]),
        ([CANARY, CANARY], [CANARY, CANARY]),
        ([None, None], [CANARY, CANARY]),
        (["a", "b", CANARY], ["a", "x", CANARY]),
    ],
)
def test_metadata_that_is_not_of_its_documents_is_refused(
    model: type[BaseModel], ids: list[str | None], entries: list[str]
) -> None:
    value = reranking([doc(one) for one in ids], [entry(one) for one in entries])
    assert fault_types(model, value) == {"metadata_misaligned"}


@given(st.lists(st.text("abc", min_size=1, max_size=4), unique=True, max_size=6), st.data())
@settings(max_examples=150, deadline=None)
def test_only_the_identical_order_is_aligned(ids: list[str], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(ids))
    value = reranking([doc(one) for one in ids], [entry(one) for one in shuffled])
    if shuffled == ids:
        assert [one.chunk_id for one in RerankingRequest.model_validate(value).metadata or []] == ids
    else:
        assert fault_types(RerankingRequest, value) == {"metadata_misaligned"}


def test_two_chunks_with_one_text_stay_two() -> None:
    request = RerankingRequest.model_validate(reranking([doc("a", "same"), doc("b", "same")], [entry("a"), entry("b")]))
    assert [(one.id, one.text) for one in request.retrieved_docs] == [("a", "same"), ("b", "same")]


def test_documents_without_metadata_may_not_repeat_an_id() -> None:
    assert fault_types(RerankingRequest, reranking([doc(CANARY), doc(CANARY)])) == {"value_error"}
    assert len(RerankingRequest.model_validate(reranking([doc(None), doc(None)])).retrieved_docs) == 2


def test_metadata_inside_documents_keeps_its_place() -> None:
    docs = [{**doc(None), "metadata": entry("a")}, {**doc("b"), "metadata": entry("b")}]
    request = RerankingRequest.model_validate(reranking(docs))
    assert [one.chunk_id for one in request.metadata or []] == ["a", "b"]


@pytest.mark.parametrize(
    "docs",
    [
        [{**doc("a"), "metadata": entry("a")}, doc("b")],
        [doc("a"), {**doc("b"), "metadata": entry("b")}],
        [{**doc("a"), "metadata": None}, {**doc("b"), "metadata": entry("b")}],
        ["bare", {**doc("b"), "metadata": entry("b")}],
        [{**doc("a"), "metadata": entry(CANARY)}],
    ],
)
def test_metadata_inside_some_documents_never_shifts(docs: list[Any]) -> None:
    assert fault_types(RerankingRequest, reranking(docs)) == {"metadata_misaligned"}


def test_metadata_in_both_places_is_refused() -> None:
    value = reranking([{**doc("a"), "metadata": entry("a")}], [entry("a")])
    assert fault_types(RerankingRequest, value) == {"metadata_misaligned"}


def test_bare_texts_are_documents() -> None:
    request = RerankingRequest.model_validate({"input": "q", "retrieved_docs": ["a", ""]})
    assert request.initial_query == "q"
    assert [one.text for one in request.retrieved_docs] == ["a", ""]
    assert request.metadata is None


def test_a_query_given_twice_is_refused() -> None:
    assert "extra_forbidden" in fault_types(RerankingRequest, {**reranking([]), "input": "q"})
    assert "extra_forbidden" in fault_types(RetrievalRequest, {"text": "a", "input": "a", "embedding": [1.0]})


def test_the_fields_that_opea_drops_are_kept() -> None:
    request = RerankingRequest.model_validate(
        reranking(
            [doc("a")],
            [entry("a", chunk_embedding=[1.0, 0.0], scores={"cosine": 0, "bm25": 3.5})],
            embedding=[0.0, 1.0],
            chunk_embeddings={"a": [1.0, 0.0]},
            reranking_strategy="adaptive",
            reranking_threshold=0,
            top_n=1,
        )
    )
    assert request.embedding == Vector.from_floats([0.0, 1.0])
    assert request.chunk_embeddings == {"a": Vector.from_floats([1.0, 0.0])}
    assert request.metadata is not None
    assert request.metadata[0].chunk_embedding == Vector.from_floats([1.0, 0.0])
    assert request.metadata[0].scores == {ScoreKind.COSINE: 0.0, ScoreKind.BM25: 3.5}
    assert (request.reranking_strategy, request.reranking_threshold, request.top_n) == (Strategy.ADAPTIVE, 0.0, 1)


def test_the_retrievers_reply_can_be_posted_to_the_reranker_unchanged() -> None:
    reply = SearchedMultimodalDoc(
        retrieved_docs=[TextDoc(id="a", text="t")],
        initial_query="q",
        metadata=[CandidateMetadata.model_validate(entry("a", chunk_embedding=[1.0]))],
        embedding=Vector.from_floats([1.0]),
    )
    for wire in (reply.model_dump(mode="json"), reply.model_dump(mode="json", exclude_none=True)):
        assert RerankingRequest.model_validate(wire).metadata == reply.metadata


def test_a_reply_survives_a_newer_writer_and_a_request_does_not() -> None:
    newer = {**reranking([{**doc("a"), "new": 1}], [entry("a", new=1)]), "new": 1}
    assert SearchedMultimodalDoc.model_validate(newer).metadata[0].chunk_id == "a"
    assert fault_types(RerankingRequest, newer) == {"extra_forbidden"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("chunk_id", ""),
        ("document_id", ""),
        ("scope", ""),
        ("chunk_id", None),
        ("scope", None),
        ("char_start", -1),
        ("char_end", 1.0),
        ("char_start", True),
        ("page", 0),
        ("tokens", -1),
        ("scores", {"cosine": "0.5"}),
        ("scores", {"cosine": float("nan")}),
        ("scores", {"relevance": 0.5}),
        ("scores", {"cosine": True}),
        ("title", "a\0b"),
        ("source", None),
    ],
)
def test_a_metadata_entry_is_strict(field: str, value: Any) -> None:
    assert fault_types(CandidateMetadata, {**entry("a"), field: value})


@pytest.mark.parametrize(
    "missing", ["chunk_id", "document_id", "revision", "source", "char_start", "char_end", "scope"]
)
def test_a_metadata_entry_is_complete(missing: str) -> None:
    assert fault_types(CandidateMetadata, {k: v for k, v in entry("a").items() if k != missing}) == {"missing"}


def test_a_span_is_ordered() -> None:
    assert fault_types(CandidateMetadata, entry("a", char_start=5, char_end=4)) == {"value_error"}
    assert CandidateMetadata.model_validate(entry("a", char_start=4, char_end=4)).char_end == 4


@pytest.mark.parametrize("model", [EmbedDoc, RetrievalRequest])
def test_falsy_overrides_of_retrieval_are_kept(model: type[BaseModel]) -> None:
    request: Any = model.model_validate(
        {"text": "", "embedding": [0], "lambda_mult": 0, "score_threshold": 0, "distance_threshold": 0}
    )
    assert (request.lambda_mult, request.score_threshold, request.distance_threshold) == (0.0, 0.0, 0.0)
    assert request.text == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("k", 0),
        ("k", -1),
        ("k", 1001),
        ("k", "4"),
        ("k", 4.0),
        ("k", True),
        ("k", None),
        ("k", 10**400),
        ("fetch_k", 0),
        ("lambda_mult", 1.01),
        ("lambda_mult", -0.01),
        ("lambda_mult", float("nan")),
        ("distance_threshold", -0.1),
        ("distance_threshold", float("inf")),
        ("score_threshold", "0.2"),
        ("score_threshold", None),
        ("search_type", "similar"),
        ("search_type", 1),
        ("scopes", "public"),
        ("scopes", [""]),
        ("scopes", [1]),
        ("reranking_strategy", "adaptiv"),
        ("top_n", 0),
        ("constraints", {"document_ids": "a"}),
        ("constraints", {"author": "a"}),
        ("constraints", []),
        ("embedding", None),
        ("embedding", {"data": []}),
        ("embedding", {"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]}),
        ("embedding", {"data": [{"embedding": [1.0], "weight": 1}]}),
        ("embedding", {"data": [{"index": 0}]}),
        ("embedding", {"data": [{"embedding": [1.0]}], "next": 1}),
        ("embedding", {"data": [{"embedding": ["x"]}]}),
        ("text", ["a"]),
        ("request_type", "chat"),
        ("graph_name", "g"),
    ],
)
def test_a_retrieval_request_is_strict(field: str, value: Any) -> None:
    assert fault_types(RetrievalRequest, {"text": "q", "embedding": [1.0], field: value})


@pytest.mark.parametrize("text", [None, "", " \n\t\u3000"])
def test_hybrid_search_needs_a_text(text: str | None) -> None:
    value = {"text": text, "embedding": [1.0], "search_type": SearchType.HYBRID}
    assert fault_types(RetrievalRequest, value) == {"value_error"}
    assert RetrievalRequest.model_validate({**value, "search_type": "similarity"}).text == (text or "")


def test_empty_lists_of_scopes_reach_the_service_that_refuses_them() -> None:
    request = RetrievalRequest.model_validate({"embedding": [1.0], "scopes": [], "constraints": {"sources": []}})
    assert request.scopes == []
    assert request.constraints is not None
    assert request.constraints.sources == []
