"""Whether `adaptive` can be trusted with the vectors that came."""

import math
import random
import struct

import pytest

from steelyard_chatqna.pipeline.integrity import (
    EmbeddingMisalignedError,
    chunk_embeddings,
    has_direction,
    without_embeddings,
)
from steelyard_contracts.documents import CandidateMetadata
from steelyard_contracts.vectors import Vector
from steelyard_reranker.selection import EmbeddingMisalignedError as InSelection
from steelyard_reranker.selection import Embeddings

from ..fakes import metadata

QUERY = Vector.from_floats([1.0, 0.0])


def raw(*values: float) -> Vector:
    return Vector(struct.pack(f"<{len(values)}f", *values))


def entries(**vectors: Vector | None) -> list[CandidateMetadata]:
    return [metadata(chunk_id, "text").model_copy(update={"chunk_embedding": one}) for chunk_id, one in vectors.items()]


def test_sound_vectors_come_back_by_id_to_the_bit() -> None:
    vectors = {"b": raw(0.1, -2.5), "a": raw(1e-7, 3.0)}
    assert chunk_embeddings(QUERY, entries(**vectors)) == vectors


def test_no_candidates_need_no_vectors() -> None:
    assert chunk_embeddings(QUERY, []) == {}


@pytest.mark.parametrize(
    ("vector", "why"),
    [
        (None, "without its embedding"),
        (raw(1.0), "has 1 dimensions, the query's 2"),
        (raw(1.0, 2.0, 3.0), "has 3 dimensions"),
        (raw(), "has 0 dimensions"),
        (raw(0.0, 0.0), "not finite or is zero"),
        (raw(-0.0, 0.0), "not finite or is zero"),
        (raw(math.nan, 1.0), "not finite or is zero"),
        (raw(math.inf, 1.0), "not finite or is zero"),
        (raw(3e38, 3e38), "not finite or is zero"),
        (raw(1e-30, 0.0), "not finite or is zero"),
    ],
)
def test_one_unusable_vector_is_named_and_fails_all(vector: Vector | None, why: str) -> None:
    with pytest.raises(EmbeddingMisalignedError, match=f"'b'.*{why}"):
        chunk_embeddings(QUERY, entries(a=raw(1.0, 1.0), b=vector, c=raw(1.0, 1.0)))


@pytest.mark.parametrize("query", [raw(), raw(0.0, 0.0), raw(math.nan, 0.0), raw(math.inf, 0.0)])
def test_an_unusable_query_is_named(query: Vector) -> None:
    with pytest.raises(EmbeddingMisalignedError, match="the query"):
        chunk_embeddings(query, entries(a=raw(1.0, 1.0)))


def test_it_is_a_runtime_error() -> None:
    assert issubclass(EmbeddingMisalignedError, RuntimeError)


@pytest.mark.parametrize(("value", "usable"), [(1e-18, True), (1e-20, False), (1e18, True), (1e20, False)])
def test_the_limits_are_those_of_selection(value: float, *, usable: bool) -> None:
    assert has_direction(raw(value)) is usable
    embeddings = Embeddings({"a": [value]}, [1.0])
    if usable:
        embeddings.align(["a"])
    else:
        with pytest.raises(InSelection):
            embeddings.align(["a"])


def test_ten_thousand_spoiled_sets_are_all_refused() -> None:
    source = random.Random(5)
    bad = [None, raw(), raw(1.0), raw(1.0, 1.0, 1.0), raw(0.0, 0.0), raw(math.nan, 1.0), raw(-math.inf, 1.0)]
    for _ in range(10_000):
        count = source.randrange(1, 8)
        made = entries(**{f"c{i}": raw(source.uniform(0.1, 1), source.uniform(-1, 1)) for i in range(count)})
        place = source.randrange(count)
        made[place] = made[place].model_copy(update={"chunk_embedding": source.choice(bad)})
        with pytest.raises(EmbeddingMisalignedError):
            chunk_embeddings(QUERY, made)


def test_without_embeddings_nothing_else_is_lost() -> None:
    given = entries(a=raw(1.0, 1.0), b=None)
    stripped = without_embeddings(given)
    assert [one.chunk_embedding for one in stripped] == [None, None]
    assert [one.model_copy(update={"chunk_embedding": None}) for one in given] == stripped
    assert given[0].chunk_embedding == raw(1.0, 1.0), "the originals are left as they were"
