"""Exact vector search: the right ones, in the right order, with the right scores."""

from __future__ import annotations

import random

import numpy as np
import pytest

from steelyard_store import DimensionMismatch, Filter, InvalidQuery
from tests.conformance.store.harness import Opened
from tests.conformance.store.samples import DIMENSION, OPEN, Float32, cosine, ids, publication, vectors

pytestmark = pytest.mark.anyio


def near(vector: Float32, seed: int, noise: float = 0.05) -> Float32:
    """A vector close to ``vector``, of another norm."""
    rng = np.random.default_rng(seed)
    moved = vector / np.linalg.norm(vector) + noise * rng.standard_normal(DIMENSION)
    return (moved * 3.7).astype(np.float32)


async def test_among_200_documents_the_right_one_is_first(store: Opened) -> None:
    matrix = vectors(200, seed=1)
    for number in range(200):
        await store.writer.publish(
            *publication(f"d{number:03}", [f"text {number}"], matrix=matrix[number : number + 1]).args
        )
    for number in range(200):
        hits = await store.reader.search_vector(near(matrix[number], seed=number), 5, OPEN)
        assert hits[0].chunk.document_id == f"d{number:03}", f"query {number}"
        assert hits[0].chunk.text == f"text {number}"


async def test_every_list_equals_a_plain_exact_search(store: Opened) -> None:
    matrix = vectors(120, seed=2)
    for number in range(40):
        rows = matrix[3 * number : 3 * number + 3]
        await store.writer.publish(*publication(f"d{number:02}", matrix=rows).args)
    names = [f"d{number // 3:02}#{number % 3}" for number in range(120)]
    for seed, k in enumerate((1, 2, 7, 50, 119, 120, 500)):
        query = vectors(1, seed=100 + seed)[0]
        expected = sorted(((-cosine(row, query), name) for row, name in zip(matrix, names, strict=True)))[:k]
        hits = await store.reader.search_vector(query, k, OPEN)
        assert ids(hits) == [name for _, name in expected]
        assert [hit.score for hit in hits] == pytest.approx([-score for score, _ in expected], abs=1e-6)


async def test_hits_carry_kind_descending_scores_in_range_and_the_whole_chunk(store: Opened) -> None:
    item = publication("d")
    await store.publish(item)
    hits = await store.reader.search_vector(vectors(1)[0], 3, OPEN)
    assert {hit.kind for hit in hits} == {"cosine"}
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(type(score) is float and -1 <= score <= 1 for score in scores)
    assert sorted((hit.chunk for hit in hits), key=lambda chunk: chunk.ordinal) == item.chunks


async def test_parallel_and_opposite_vectors_score_exactly_one_and_minus_one(store: Opened) -> None:
    base = vectors(1, seed=3)
    await store.publish(publication("d", ["same", "opposite"], matrix=np.concatenate([base * 5, -base / 7])))
    hits = await store.reader.search_vector(base[0], 2, OPEN)
    assert [hit.score for hit in hits] == pytest.approx([1.0, -1.0], abs=1e-6)


async def test_duplicate_texts_are_two_chunks(store: Opened) -> None:
    await store.publish(publication("a", ["the same words"]), publication("b", ["the same words"]))
    assert sorted(ids(await store.reader.search_vector(vectors(1)[0], 10, OPEN))) == ["a#0", "b#0"]


async def test_ties_are_broken_by_chunk_id_wherever_the_rows_stand(store: Opened) -> None:
    shared = vectors(1, seed=4)[0]
    order = [f"t{number:02}" for number in range(37)]
    random.Random(5).shuffle(order)
    for number, name in enumerate(order):
        rows = np.stack([shared, vectors(1, seed=200 + number)[0]])
        await store.writer.publish(*publication(name, ["tie", "other"], matrix=rows).args)
    for k in (1, 5, 20, 37):
        hits = await store.reader.search_vector(near(shared, seed=6, noise=0.02), k, OPEN)
        assert ids(hits) == [f"t{number:02}#0" for number in range(k)]
        assert len({hit.score for hit in hits}) == 1


async def test_scores_do_not_depend_on_the_norm_of_either_side(store: Opened) -> None:
    base = vectors(1, seed=7)
    scaled = np.concatenate([base, base * 1e-18, base * 1e18]).astype(np.float32)
    await store.publish(publication("d", matrix=scaled))
    for factor in (1.0, 1e-20, 1e20):
        hits = await store.reader.search_vector(near(base[0], seed=8) * np.float32(factor), 3, OPEN)
        assert [hit.score for hit in hits] == pytest.approx([hits[0].score] * 3, abs=1e-6)


async def test_the_query_is_not_changed_and_may_be_reused_at_once(store: Opened) -> None:
    await store.publish(publication("d"))
    query = vectors(1, seed=9)[0]
    before = query.tobytes()
    query.flags.writeable = False
    await store.reader.search_vector(query, 3, OPEN)
    await store.reader.cosines(query, ["d#0"], OPEN)
    assert query.tobytes() == before


@pytest.mark.parametrize("convert", [list, tuple, lambda q: q.astype(np.float64), lambda q: q[::1]], ids=repr)
async def test_any_numeric_sequence_is_a_query(store: Opened, convert: type) -> None:
    await store.publish(publication("d"))
    query = vectors(1, seed=10)[0]
    assert await store.reader.search_vector(convert(query), 3, OPEN) == await store.reader.search_vector(query, 3, OPEN)


async def test_fewer_than_k_means_there_are_no_more(store: Opened) -> None:
    await store.publish(publication("d"), publication("e", scope="team-b"))
    assert len(await store.reader.search_vector(vectors(1)[0], 100, OPEN)) == 3
    assert len(await store.reader.search_vector(vectors(1)[0], 100, Filter({"team-a", "team-b"}))) == 6


@pytest.mark.parametrize("k", [0, -1, -(10**30), 10**9, 10**30, 1.5, True, "3", None])
async def test_a_k_without_meaning_is_refused(store: Opened, k: object) -> None:
    await store.publish(publication("d"))
    with pytest.raises(InvalidQuery, match="k must be"):
        await store.reader.search_vector(vectors(1)[0], k, OPEN)  # type: ignore[arg-type]
    with pytest.raises(InvalidQuery, match="k must be"):
        await store.reader.search_lexical("alpha", k, OPEN)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0, 1, DIMENSION - 1, DIMENSION + 1])
async def test_a_query_of_another_dimension_is_refused(store: Opened, size: int) -> None:
    await store.publish(publication("d"))
    with pytest.raises((DimensionMismatch, InvalidQuery)) as caught:
        await store.reader.search_vector(np.ones(size, dtype=np.float32), 3, OPEN)
    with pytest.raises(type(caught.value)):
        await store.reader.cosines(np.ones(size, dtype=np.float32), ["d#0"], OPEN)
    if size:
        assert isinstance(caught.value, DimensionMismatch)
        assert (caught.value.expected, caught.value.given) == (DIMENSION, size)


@pytest.mark.parametrize(
    "query",
    [
        np.zeros(DIMENSION),
        np.full(DIMENSION, np.nan),
        np.full(DIMENSION, np.inf),
        np.full(DIMENSION, 1e300),
        np.ones((1, DIMENSION)),
        np.float32(1),
        "not a vector",
        [None] * DIMENSION,
        [[1.0], [1.0, 2.0]],
    ],
    ids=["zero", "nan", "inf", "overflow", "two axes", "scalar", "text", "none", "ragged"],
)
async def test_a_query_without_a_direction_is_refused(store: Opened, query: object) -> None:
    await store.publish(publication("d"))
    with pytest.raises(InvalidQuery):
        await store.reader.search_vector(query, 3, OPEN)  # type: ignore[arg-type]


async def test_cosines_equal_the_scores_of_the_search(store: Opened) -> None:
    for number in range(10):
        await store.writer.publish(*publication(f"d{number}").args)
    query = vectors(1, seed=11)[0]
    hits = await store.reader.search_vector(query, 30, OPEN)
    assert await store.reader.cosines(query, ids(hits), OPEN) == {hit.chunk.chunk_id: hit.score for hit in hits}


async def test_cosines_of_invisible_and_unknown_chunks_are_absent(store: Opened) -> None:
    await store.publish(publication("d"), publication("e", scope="team-b"))
    query = vectors(1, seed=12)[0]
    assert list(await store.reader.cosines(query, ["e#0", "d#1", "nobody"], OPEN)) == ["d#1"]
    assert await store.reader.cosines(query, [], OPEN) == {}
    assert await store.reader.cosines(query, ["nobody"], OPEN) == {}


async def test_a_replaced_vector_is_never_found_again(store: Opened) -> None:
    old, new = vectors(1, seed=13), vectors(1, seed=14)
    await store.publish(publication("d", ["x"], matrix=old))
    assert (await store.reader.search_vector(old[0], 1, OPEN))[0].score == pytest.approx(1)
    await store.publish(publication("d", ["x"], matrix=new, revision="r2"))
    hits = await store.reader.search_vector(old[0], 1, OPEN)
    assert hits[0].score == pytest.approx(cosine(old[0], new[0]), abs=1e-6)
    assert hits[0].chunk.revision == "r2"
