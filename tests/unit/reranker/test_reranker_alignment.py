"""A request as rows: everything is matched by chunk id, whatever order it comes in."""

from typing import Any

import numpy as np
import pytest

from steelyard_contracts.reranking import RerankingRequest
from steelyard_contracts.vectors import Vector
from steelyard_reranker.alignment import array_of, embeddings_of, rows_of

from .fake_backend import request


def test_rows_are_in_retrieval_order_with_what_retrieval_knew() -> None:
    rows = rows_of(request({"b": "text b", "a": "text a"}, {"b": 0.9}, {"b": 7}))
    assert [(row.chunk_id, row.text, row.rank, row.document_id) for row in rows] == [
        ("b", "text b", 1, "d-b"),
        ("a", "text a", 2, "d-a"),
    ]
    assert [(row.cosine, row.tokens) for row in rows] == [(0.9, 7), (None, None)]


def test_a_cosine_of_zero_is_a_cosine() -> None:
    assert rows_of(request({"a": "x"}, {"a": 0.0}))[0].cosine == 0.0


def test_a_score_of_another_kind_is_no_cosine() -> None:
    body = request({"a": "x"}, {"a": 0.4})
    assert body.metadata is not None
    body.metadata[0].scores.clear()
    body.metadata[0].scores.update({"bm25": 12.5, "rrf": 0.03})  # type: ignore[dict-item]
    assert rows_of(body)[0].cosine is None


def test_without_metadata_rows_have_their_ids_or_their_positions() -> None:
    docs: list[Any] = ["bare", {"id": "mine", "text": "named"}, {"text": "again"}]
    rows = rows_of(RerankingRequest.model_validate({"initial_query": "q", "retrieved_docs": docs}))
    assert [row.chunk_id for row in rows] == ["doc-0", "mine", "doc-2"]
    assert all(row.document_id is None and row.scores == {} for row in rows)


def test_duplicate_texts_stay_two_rows() -> None:
    assert [row.chunk_id for row in rows_of(request({"a": "same", "b": "same"}))] == ["a", "b"]


def test_vectors_by_id_come_from_chunk_embeddings_in_any_order() -> None:
    body = request({"a": "x", "b": "y"}, {}, embedding=[1, 1], chunk_embeddings={"b": [0, 1], "a": [1, 0]})
    units = embeddings_of(body).align(["a", "b"])
    np.testing.assert_array_equal(units.chunks, [[1, 0], [0, 1]])


def test_vectors_come_from_the_metadata_where_chunk_embeddings_are_absent() -> None:
    body = request({"a": "x", "b": "y"}, {}, embedding=[1, 1])
    assert body.metadata is not None
    body.metadata[1] = body.metadata[1].model_copy(update={"chunk_embedding": Vector.from_floats([0, 2])})
    assert set(embeddings_of(body).by_chunk_id) == {"b"}
    # Given but empty is not absent: then no vector was sent, and none is taken from elsewhere.
    assert embeddings_of(body.model_copy(update={"chunk_embeddings": {}})).by_chunk_id == {}


def test_no_query_vector_stays_none() -> None:
    assert embeddings_of(request({"a": "x"})).query is None


@pytest.mark.parametrize("numbers", [[1.5, -2.25], []])
def test_an_array_is_the_vectors_numbers_and_can_not_be_written_to(numbers: list[float]) -> None:
    array = array_of(Vector.from_floats(numbers))
    assert array.tolist() == numbers
    assert array.flags.writeable is False
