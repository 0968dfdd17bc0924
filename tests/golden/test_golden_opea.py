"""Genuine OPEA payloads, written by OPEA's own classes, against the contract of the endpoint that takes them."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
from pydantic import BaseModel, ValidationError

from steelyard_contracts.chat import ChatQnARequest
from steelyard_contracts.documents import CandidateMetadata, EmbedDoc, SearchedMultimodalDoc, TextDoc, TokenUsage
from steelyard_contracts.embeddings import EmbeddingData, EmbeddingInput, EmbeddingRequest, EmbeddingResponse, TextsDoc
from steelyard_contracts.enums import Fate, Outcome, Reason, ScoreKind, SearchType, Strategy
from steelyard_contracts.ledger import LedgerEntry
from steelyard_contracts.reranking import RerankedDoc, RerankingRequest, RerankingResponse
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_contracts.vectors import Vector

FOLDER = Path(__file__).parent / "opea"
TAKES: dict[str, type[BaseModel]] = {
    "/v1/embeddings": EmbeddingInput,
    "/v1/retrieval": RetrievalRequest,
    "/v1/reranking": RerankingRequest,
    "/v1/chatqna": ChatQnARequest,
}
FORMS = ("microservice", "orchestrator")

REFUSED = {
    # Token ids of a tokenizer that nobody named can be neither measured nor embedded.
    "EmbeddingRequest-tokens": "string_type",
    # Retrieval answers one query; several in one document would have to share k candidates.
    "EmbedDoc-texts": "string_type",
    # A filter that the store does not know is refused, because ignoring it would return unfiltered results.
    "EmbedDoc-filter": "extra_forbidden",
    # OPEA's graph traversal is not offered.
    "RetrievalRequestArangoDB-graph": "none_required",
    # One candidate is one text.
    "SearchedDoc-texts": "string_type",
    # Identity is `chunk_id`; metadata without it could belong to any chunk.
    "SearchedMultimodalDoc-foreign-metadata": "missing",
    "RerankingRequest-foreign-metadata": "missing",
    # OPEA appends only non-empty metadata, which shifts every later entry.
    "SearchedMultimodalDoc-shifted-metadata": "metadata_misaligned",
    # No stage could account for an image.
    "ChatCompletionRequest-image": "literal_error",
    # The gateway finds the evidence itself; text that the caller brings has no scope, no hash and no ledger entry.
    "ChatCompletionRequest-documents": "too_long",
    "LLMParamsDoc-documents": "too_long",
}


def golden(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return content


def sent(case: str, form: str = "microservice") -> Any:
    content = golden(f"request-{case}")
    return TAKES[content["endpoint"]].model_validate(content["sent_as"][form])


CASES = sorted(path.stem.removeprefix("request-") for path in FOLDER.glob("request-*.json"))


def test_there_are_payloads_for_every_endpoint() -> None:
    assert {golden(f"request-{case}")["endpoint"] for case in CASES} == set(TAKES)
    assert set(REFUSED) <= set(CASES)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", [case for case in CASES if case not in REFUSED])
def test_genuine_payload_is_accepted(case: str, form: str) -> None:
    assert sent(case, form) is not None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", sorted(REFUSED))
def test_payload_that_would_be_misread_is_refused(case: str, form: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        sent(case, form)
    assert REFUSED[case] in {fault["type"] for fault in refusal.value.errors()}


@pytest.mark.parametrize("case", CASES)
def test_an_unknown_key_in_a_genuine_payload_is_refused(case: str) -> None:
    content = golden(f"request-{case}")
    with pytest.raises(ValidationError) as refusal:
        TAKES[content["endpoint"]].model_validate({**content["sent_as"]["microservice"], "rerankin_strategy": "slice"})
    assert "extra_forbidden" in {fault["type"] for fault in refusal.value.errors()}


CHAT_CLASSES = ("ChatCompletionRequest", "LLMParams")


@pytest.mark.parametrize("name", CHAT_CLASSES)
def test_a_chat_request_with_all_of_opeas_defaults_is_taken(name: str) -> None:
    request = ChatQnARequest.model_validate({"messages": "q", **golden(f"fields-{name}")["defaults"]})
    assert request.messages == "q"


@pytest.mark.parametrize("name", CHAT_CLASSES)
def test_each_value_that_opea_takes_is_taken_or_refused_by_name(name: str) -> None:
    taken = 0
    for field, values in golden(f"fields-{name}")["accepted"].items():
        for value in values:
            try:
                ChatQnARequest.model_validate({"messages": "q", field: value})
            except ValidationError as refusal:
                faults = refusal.errors()
                assert {fault["loc"][0] for fault in faults} == {field}
                assert all(fault["msg"] for fault in faults)
            else:
                taken += 1
    assert taken >= 50


@pytest.mark.parametrize("name", CHAT_CLASSES)
def test_a_zero_that_opea_takes_is_a_zero(name: str) -> None:
    """Values that change an answer: what OPEA takes is passed on as it is, or refused, and never a default."""
    changing = {"temperature", "top_p", "frequency_penalty", "presence_penalty", "score_threshold", "lambda_mult",
                "distance_threshold", "repetition_penalty", "typical_p"}  # fmt: skip
    accepted = golden(f"fields-{name}")["accepted"]
    zeros = [
        field for field in changing & accepted.keys() if any(type(one) is float and one == 0 for one in accepted[field])
    ]
    assert len(zeros) >= 4
    for field in zeros:
        request = ChatQnARequest.model_validate({"messages": "q", field: 0.0})
        assert getattr(request, field) == 0.0
        assert getattr(request, field) is not None


def test_a_chat_request_streams_unless_it_says_otherwise() -> None:
    assert ChatQnARequest.model_validate({"messages": "q"}).stream is True
    assert ChatQnARequest.model_validate({"messages": "q", "stream": False}).stream is False


def test_falsy_overrides_of_embed_doc_survive() -> None:
    request = sent("EmbedDoc-overrides")
    assert (request.search_type, request.k, request.fetch_k) == (SearchType.MMR, 1, 1)
    assert (request.lambda_mult, request.score_threshold, request.distance_threshold) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("form", FORMS)
def test_falsy_overrides_of_chat_survive(form: str) -> None:
    request = sent("ChatCompletionRequest-zeros", form)
    assert (request.temperature, request.top_p, request.score_threshold, request.lambda_mult) == (0.0, 0.0, 0.0, 0.0)
    assert request.frequency_penalty == 0.0


def test_llm_params_query_is_the_question_and_the_smaller_limit_applies() -> None:
    request = sent("LLMParamsDoc-overrides")
    assert request.messages == golden("request-LLMParamsDoc-overrides")["sent_as"]["microservice"]["query"]
    assert (request.max_tokens, request.temperature, request.stream) == (200, 0.0, False)


def test_metadata_inside_documents_is_hoisted_in_order() -> None:
    request = sent("RerankingRequest")
    assert [entry.chunk_id for entry in request.metadata] == ["chunk-1", "chunk-2"]
    assert request.initial_query == golden("request-RerankingRequest")["sent_as"]["microservice"]["input"]


def test_an_embedding_reply_as_query_vector_is_its_only_vector() -> None:
    assert sent("RetrievalRequest-reply").embedding == sent("RetrievalRequest").embedding


def test_chunk_embeddings_reach_the_contract() -> None:
    request = sent("SearchedMultimodalDoc")
    assert [entry.chunk_embedding.to_floats() for entry in request.metadata] == [[0.25, -0.5, 0.125, 1.0]] * 2


def _metadata(chunk_id: str) -> CandidateMetadata:
    return CandidateMetadata(
        chunk_id=chunk_id, document_id="d", revision="r", source="s", char_start=0, char_end=1, scope="public"
    )


def _reply(name: str) -> BaseModel:
    """A reply of ours that has everything in it, for each of OPEA's readers."""
    if name == "EmbedDoc":
        return EmbedDoc(text="q", embedding=Vector.from_floats([0.5, 1.0]))
    if name == "EmbeddingResponse":
        return EmbeddingResponse(
            model="m",
            data=[EmbeddingData(index=0, embedding=[0.5, 1.0])],
            usage=TokenUsage(prompt_tokens=1, total_tokens=1),
        )
    if name in ("SearchedMultimodalDoc", "RetrievalResponse"):
        return SearchedMultimodalDoc(
            retrieved_docs=[TextDoc(id="c1", text="a")], initial_query="q", top_n=3, metadata=[_metadata("c1")]
        )
    entry = LedgerEntry(chunk_id="c1", retrieval_rank=1, fate=Fate.SENT, reason=Reason.SELECTED, rank=1)
    return RerankingResponse(
        outcome=Outcome.OK,
        policy_hash="p",
        strategy=Strategy.SLICE,
        score_kind=ScoreKind.RERANK,
        initial_query="q",
        reranked_docs=[RerankedDoc(id="c1", text="a", score=0.5, rank=1)],
        ledger=[entry],
    )


@pytest.mark.parametrize(
    "name",
    ["EmbedDoc", "EmbeddingResponse", "SearchedMultimodalDoc", "RetrievalResponse", "RerankedDoc", "RerankingResponse"],
)
def test_opea_reads_our_reply(name: str) -> None:
    reply = _reply(name).model_dump(mode="json", exclude_none=True)
    if isinstance(embedding := reply.get("embedding"), dict):
        # The embedding service answers OPEA's form with JSON lists; the contract's own form is the compact one.
        reply["embedding"] = Vector.from_base64(embedding["base64"]).to_floats()
    jsonschema.validate(orjson.loads(orjson.dumps(reply)), golden(f"reply-{name}")["schema"])


def test_the_schemas_of_opea_readers_can_refuse() -> None:
    schema = golden("reply-RerankingResponse")["schema"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"reranked_docs": [{"score": 1.0}]}, schema)


def test_texts_of_one_document_are_all_taken() -> None:
    assert isinstance(sent("TextDoc-texts").root, TextsDoc)
    assert sent("TextDoc-texts").root.text[1] == "Second text."
    assert isinstance(sent("EmbeddingRequest-base64").root, EmbeddingRequest)
