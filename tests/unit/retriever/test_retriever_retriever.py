"""The retriever's own decisions: what the caller may see, which vectors travel, and what it says of its state."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from steelyard_contracts.documents import SearchedMultimodalDoc
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_contracts.vectors import Vector
from steelyard_retriever.retriever import EmbeddingsMissingError, Retriever
from steelyard_retriever.settings import RetrieverSettings
from steelyard_runtime.upstream.http import Upstream
from steelyard_store.errors import ModelMismatch, StoreNotInitialised, StoreUnavailable

from .fake_store import MODEL, FakeRescorer, FakeStore, chunk

QUERY = [0.5, 0.25, 0.0]


def corpus() -> FakeStore:
    return FakeStore(
        [
            (chunk("a", "pump seal"), [1, 0, 0]),
            (chunk("b", "pump torque"), [0, 1, 0]),
            (chunk("c", "secret pump", scope="internal"), [0.5, 0.25, 0]),
        ]
    )


def retriever(store: FakeStore, embedding: Any = None, **settings: Any) -> Retriever:
    known: dict[str, Any] = {"steelyard_scopes": ("public", "internal"), **settings}
    rescorer: Any = FakeRescorer()
    return Retriever(store, embedding, rescorer, RetrieverSettings(**known))


def ask(store: FakeStore, settings: dict[str, Any] | None = None, **fields: Any) -> SearchedMultimodalDoc:
    request = RetrievalRequest.model_validate({"text": "pump", "embedding": QUERY, "k": 5} | fields)
    return asyncio.run(retriever(store, **(settings or {})).retrieve(request, "hash"))


def ids(reply: SearchedMultimodalDoc) -> list[str | None]:
    return [doc.id for doc in reply.retrieved_docs]


def test_the_reply_describes_each_candidate() -> None:
    reply = ask(corpus(), id="x", reranking_strategy="slice", top_n=7)
    assert ids(reply) == ["a", "b"]
    assert [doc.text for doc in reply.retrieved_docs] == ["pump seal", "pump torque"]
    entry = reply.metadata[0]
    assert entry.model_dump(exclude={"scores"}) == {
        "chunk_id": "a",
        "document_id": "a",
        "revision": "1",
        "source": "a.md",
        "title": "title of a",
        "section": "§ 1",
        "char_start": 7,
        "char_end": 16,
        "page": 3,
        "page_end": 4,
        "parent_id": "a-1",
        "scope": "public",
        "tokens": 2,
        "chunk_embedding": None,
        "parents": None,
    }
    assert (reply.id, reply.initial_query, reply.top_n, reply.policy_hash) == ("x", "pump", 7, "hash")
    assert (reply.outcome, reply.score_kind, reply.degraded) == ("ok", "cosine", None)


def test_top_n_is_the_services_when_the_request_has_none() -> None:
    assert ask(corpus(), {"reranker_top_n": 9}, reranking_strategy="slice").top_n == 9


def test_no_candidates_are_an_honest_empty_outcome() -> None:
    reply = ask(FakeStore(), reranking_strategy="adaptive")
    assert (reply.outcome, reply.retrieved_docs, reply.metadata) == ("empty", [], [])


def test_no_scope_means_the_default_one() -> None:
    assert ids(ask(corpus(), reranking_strategy="slice")) == ["a", "b"]
    assert ids(ask(corpus(), {"steelyard_scopes": ("internal", "public")}, reranking_strategy="slice")) == ["c"]


def test_named_scopes_are_the_ones_that_are_seen() -> None:
    assert ids(ask(corpus(), scopes=["internal"], reranking_strategy="slice")) == ["c"]
    assert ids(ask(corpus(), scopes=["internal", "public"], reranking_strategy="slice")) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("scopes", "code"),
    [
        ([], ErrorCode.SCOPE_REQUIRED),
        (["secret"], ErrorCode.SCOPE_UNKNOWN),
        (["public", "secret"], ErrorCode.SCOPE_UNKNOWN),
        (["Public"], ErrorCode.SCOPE_UNKNOWN),
        ([" public"], ErrorCode.SCOPE_UNKNOWN),
    ],
)
def test_scopes_fail_closed_without_a_search(scopes: list[str], code: ErrorCode) -> None:
    store = corpus()
    with pytest.raises(SteelyardError) as error:
        ask(store, scopes=scopes)
    assert error.value.code is code
    assert error.value.status == 403
    assert store.calls == []


def test_constraints_narrow_and_an_empty_list_matches_nothing() -> None:
    assert ids(ask(corpus(), constraints={"document_ids": ["b"]}, reranking_strategy="slice")) == ["b"]
    assert ids(ask(corpus(), constraints={"sources": ["a.md"]}, reranking_strategy="slice")) == ["a"]
    assert ids(ask(corpus(), constraints={"document_ids": []}, reranking_strategy="slice")) == []
    assert ids(ask(corpus(), constraints={"sources": []}, reranking_strategy="slice")) == []
    assert ids(ask(corpus(), constraints={"document_ids": ["c"]}, reranking_strategy="slice")) == []


@pytest.mark.parametrize("strategy", ["slice", "threshold", "slice_threshold", "knee_threshold"])
def test_no_embedding_travels_or_is_read_for_other_strategies(strategy: str) -> None:
    store = corpus()
    reply = ask(store, reranking_strategy=strategy)
    assert "embeddings" not in store.calls
    assert reply.embedding is None
    assert all(entry.chunk_embedding is None for entry in reply.metadata)


@pytest.mark.parametrize("search_type", ["similarity", "similarity_score_threshold", "mmr", "hybrid"])
def test_adaptive_brings_every_embedding_in_one_read(search_type: str) -> None:
    store = corpus()
    reply = ask(store, reranking_strategy="adaptive", search_type=search_type, score_threshold=-1.0)
    assert store.calls.count("embeddings") == 1
    by_id = {entry.chunk_id: entry.chunk_embedding for entry in reply.metadata}
    assert by_id == {"a": Vector.from_floats([1, 0, 0]), "b": Vector.from_floats([0, 1, 0])}
    assert reply.embedding == Vector.from_floats(QUERY)


def test_the_requests_strategy_outweighs_the_services() -> None:
    adaptive, slicing = {"reranking_strategy": "adaptive"}, {"reranking_strategy": "slice"}
    assert ask(corpus(), adaptive).embedding is not None
    assert ask(corpus(), slicing).embedding is None
    assert ask(corpus(), slicing, reranking_strategy="adaptive").embedding is not None
    assert ask(corpus(), adaptive, reranking_strategy="slice").embedding is None


def test_nothing_found_reads_no_embeddings() -> None:
    store = FakeStore()
    ask(store, reranking_strategy="adaptive")
    assert "embeddings" not in store.calls


def test_the_vector_that_is_searched_with_and_returned_is_the_callers_to_the_bit() -> None:
    store = corpus()
    given = Vector.from_floats([0.1, -2.5, 3e-7])
    reply = ask(store, embedding=given.to_base64(), reranking_strategy="adaptive")
    assert reply.embedding == given
    assert set(store.queries) == {given.data}


def _replace_once(store: FakeStore, call: str) -> None:
    store.after[call] = lambda: store.replace_document(
        "a", (chunk("a2", "pump", document="a", revision="2"), [1, 0, 0])
    )


@pytest.mark.parametrize("search_type", ["similarity", "mmr", "hybrid"])
def test_a_document_replaced_between_the_reads_is_found_in_its_new_revision(search_type: str) -> None:
    store = corpus()
    _replace_once(store, "search_vector")
    reply = ask(store, reranking_strategy="adaptive", search_type=search_type)
    assert sorted(str(one) for one in ids(reply)) == ["a2", "b"]
    assert all(entry.chunk_embedding is not None for entry in reply.metadata)
    assert store.calls.count("search_vector") == 2


def test_a_document_replaced_between_mmrs_reads_is_not_no_evidence() -> None:
    store = FakeStore([(chunk("a", "pump"), [1, 0, 0])])
    _replace_once(store, "search_vector")
    reply = ask(store, reranking_strategy="slice", search_type="mmr")
    assert (reply.outcome, ids(reply)) == ("ok", ["a2"])


def test_an_embedding_that_is_missing_twice_is_a_fault_of_the_data() -> None:
    store = corpus()
    original = store.embeddings

    async def without_a(chunk_ids: Any, allowed: Any) -> dict[str, np.ndarray]:
        found = await original(chunk_ids, allowed)
        found.pop("a")
        return found

    store.embeddings = without_a  # type: ignore[method-assign]
    with pytest.raises(EmbeddingsMissingError, match=r"1 of 2 candidates .*'a'"):
        ask(store, reranking_strategy="adaptive")
    assert store.calls.count("embeddings") == 2
    assert issubclass(EmbeddingsMissingError, RuntimeError)


def test_a_store_that_fails_while_embeddings_are_read_is_an_error() -> None:
    store = corpus()
    store.fail["embeddings"] = StoreUnavailable("down")
    with pytest.raises(StoreUnavailable):
        ask(store, reranking_strategy="adaptive")


def test_a_failed_half_is_degraded_in_the_reply() -> None:
    store = corpus()
    store.fail["search_vector"] = StoreUnavailable("down")
    reply = ask(store, search_type="hybrid", reranking_strategy="slice")
    assert (reply.outcome, reply.score_kind) == ("degraded", "bm25")
    assert reply.degraded is not None
    assert reply.degraded.reason == "vector_search_failed"


def test_a_failed_half_that_leaves_nothing_is_degraded_and_not_empty() -> None:
    store = corpus()
    store.fail["search_vector"] = StoreUnavailable("down")
    reply = ask(store, text="unheard", search_type="hybrid", reranking_strategy="slice")
    assert (reply.outcome, reply.retrieved_docs) == ("degraded", [])


def test_opeas_request_without_a_text_is_searched_by_its_vector() -> None:
    reply = ask(corpus(), text=None, reranking_strategy="slice")
    assert (ids(reply), reply.initial_query) == (["a", "b"], "")


def test_a_text_of_white_space_is_refused_without_a_search() -> None:
    store = corpus()
    with pytest.raises(SteelyardError, match="text: is blank") as error:
        ask(store, text=" \n")
    assert (error.value.code, store.calls) == (ErrorCode.INVALID_REQUEST, [])


class FakeInfo(Upstream):
    """An embedding service of which only `/info` is asked."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        super().__init__(Stage.EMBEDDING, "http://unused")
        self._answer = answer

    async def get_json(self, path: str, timeout_s: float) -> Any:
        assert path == "/info"
        return self._answer()


def _info(**changes: Any) -> dict[str, Any]:
    model = {"id": MODEL.model_id, "revision": MODEL.revision, "dimension": MODEL.dimension, **changes}
    return json.loads(json.dumps({"models": {"embedding": model}}))


def probe(store: FakeStore, answer: Callable[[], Any]) -> None:
    asyncio.run(retriever(store, FakeInfo(answer)).probe())


def test_the_probe_is_quiet_when_store_and_embedding_agree() -> None:
    probe(corpus(), _info)


@pytest.mark.parametrize("change", [{"id": "another"}, {"revision": "r2"}, {"dimension": 4}])
def test_another_model_is_named_with_the_stores(change: dict[str, Any]) -> None:
    with pytest.raises(ModelMismatch) as error:
        probe(corpus(), lambda: _info(**change))
    assert str(MODEL) in str(error.value)
    assert str(next(iter(change.values()))) in str(error.value)


def test_nothing_is_searched_by_vectors_of_another_model_until_both_agree() -> None:
    store = corpus()
    request = RetrievalRequest.model_validate({"text": "pump", "embedding": QUERY, "reranking_strategy": "slice"})
    answers: list[Any] = [_info(revision="r2"), None, _info()]

    def answer() -> Any:
        said = answers.pop(0)
        if said is None:
            raise UpstreamError(ErrorCode.UPSTREAM_UNREACHABLE, "down", stage=Stage.EMBEDDING)
        return said

    async def main() -> None:
        asked = retriever(store, FakeInfo(answer))
        for _ in range(2):  # the second look learns nothing new
            with pytest.raises(ModelMismatch):
                await asked.probe()
            before = list(store.calls)
            with pytest.raises(ModelMismatch, match="configure"):
                await asked.retrieve(request, "p")
            assert store.calls == before
        await asked.probe()
        assert (await asked.retrieve(request, "p")).retrieved_docs

    asyncio.run(main())


def test_an_embedding_service_that_is_down_does_not_make_the_retriever_unready() -> None:
    def down() -> Any:
        raise UpstreamError(ErrorCode.UPSTREAM_UNREACHABLE, "down", stage=Stage.EMBEDDING)

    probe(corpus(), down)


def test_a_store_that_is_not_usable_makes_it_unready() -> None:
    store = corpus()
    store.fail["check"] = StoreNotInitialised("nothing here")
    with pytest.raises(StoreNotInitialised):
        probe(store, _info)


@pytest.mark.parametrize(
    "reply", [None, [], {}, {"models": None}, {"models": {"embedding": {}}}, {"models": {"embedding": {"id": 1}}}]
)
def test_a_nonsensical_info_is_a_cause_that_an_operator_can_read(reply: Any) -> None:
    with pytest.raises(UpstreamError, match="does not say which model"):
        probe(corpus(), lambda: reply)


def test_an_info_without_a_dimension_is_one_too() -> None:
    with pytest.raises(UpstreamError, match="does not say which model"):
        probe(corpus(), lambda: _info(dimension=None))
