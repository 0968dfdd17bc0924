"""Scope: every read is filtered in the store, and nothing of another scope can be noticed through it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from steelyard_store import Filter, InvalidQuery, ScopeRequired
from tests.conformance.store.harness import STORES, Opened
from tests.conformance.store.samples import MODEL, OPEN, ids, publication, vectors

pytestmark = pytest.mark.anyio

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty"]


@pytest.mark.parametrize("scopes", [(), [], set(), frozenset(), {""}, {" "}, {"team-a", ""}, None, "team-a", b"team-a"])
def test_a_filter_without_a_scope_cannot_be_made(scopes: set[str]) -> None:
    with pytest.raises(ScopeRequired):
        Filter(scopes)


@pytest.mark.parametrize("scopes", [{"a\0b"}, {"\ud800"}, {7}, {None}])
def test_a_filter_with_an_impossible_scope_cannot_be_made(scopes: set[str]) -> None:
    with pytest.raises(InvalidQuery):
        Filter(scopes)


@pytest.mark.parametrize("missing", [None, {}, {"team-a"}, "team-a", True])
async def test_every_read_without_a_filter_is_refused(store: Opened, missing: Filter) -> None:
    await store.publish(publication("d"))
    query = vectors(1)[0]
    for call in (
        store.reader.search_vector(query, 3, missing),
        store.reader.search_lexical("alpha", 3, missing),
        store.reader.search_tree(query, 3, missing),
        store.reader.children(query, ["d/"], 3, missing),
        store.reader.cosines(query, ["d#0"], missing),
        store.reader.embeddings(["d#0"], missing),
        store.reader.chunks(["d#0"], missing),
        store.reader.document("d", missing),
        store.reader.document_chunks("d", missing),
        store.reader.documents(missing),
    ):
        with pytest.raises(ScopeRequired):
            await call


@pytest.mark.parametrize("scope", ["Team-A", "team-a ", "team", "team-a%", "*", "' OR 1=1 --", '"team-a"', "team-á"])
async def test_scopes_are_compared_byte_for_byte(store: Opened, scope: str) -> None:
    await store.publish(publication("d"))
    assert await store.reader.search_vector(vectors(1)[0], 3, Filter({scope})) == []
    assert await store.reader.search_lexical("alpha", 3, Filter({scope})) == []
    assert await store.reader.document("d", Filter({scope})) is None
    assert (await store.reader.documents(Filter({scope}))).documents == ()


async def test_the_filter_is_applied_before_the_cut_to_k(store: Opened) -> None:
    query = vectors(1, seed=1)
    close = np.repeat(query, 30, axis=0)
    await store.publish(
        publication("rich", ["same words"] * 30, scope="team-b", matrix=close), publication("poor", ["same words"])
    )
    assert ids(await store.reader.search_vector(query[0], 1, OPEN)) == ["poor#0"]
    assert ids(await store.reader.search_lexical("same words", 1, OPEN)) == ["poor#0"]


async def test_random_reads_see_their_scopes_and_all_of_them(store: Opened) -> None:
    rng = random.Random(20)
    scopes = [f"scope-{number}" for number in range(6)]
    owner: dict[str, str] = {}
    for number in range(60):
        scope = rng.choice(scopes)
        texts = [" ".join(rng.sample(WORDS, 4)) for _ in range(rng.randint(1, 3))]
        await store.writer.publish(*publication(f"d{number:02}", texts, scope=scope).args)
        owner |= {f"d{number:02}#{ordinal}": scope for ordinal in range(len(texts))}
    await store.place.settle()
    for seed in range(150):
        chosen = frozenset(rng.sample(scopes, rng.randint(1, 3)))
        allowed = {chunk_id for chunk_id, scope in owner.items() if scope in chosen}
        query, narrow = vectors(1, seed=seed)[0], Filter(chosen)
        k = rng.choice([1, 5, 500])
        vector = ids(await store.reader.search_vector(query, k, narrow))
        assert set(vector) <= allowed
        assert len(vector) == min(k, len(allowed))
        assert set(ids(await store.reader.search_lexical(" ".join(WORDS), 500, narrow))) == allowed
        asked = rng.sample(list(owner), 20)
        expected = [chunk_id for chunk_id in asked if chunk_id in allowed]
        assert list(await store.reader.chunks(asked, narrow)) == expected
        assert list(await store.reader.embeddings(asked, narrow)) == expected
        assert list(await store.reader.cosines(query, asked, narrow)) == expected


async def test_vector_results_are_the_same_with_and_without_the_other_scopes(
    store: Opened, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    alone = STORES[kind].fresh(tmp_path_factory.mktemp("alone"))
    writer, reader = alone.writer(), alone.reader(MODEL)
    await writer.initialise(MODEL)
    rng = random.Random(21)
    for number in range(40):
        mine = publication(f"m{number:02}", [" ".join(rng.sample(WORDS, 5))])
        await writer.publish(*mine.args)
        await store.writer.publish(*publication(f"x{number:02}", scope="team-b").args)
        await store.writer.publish(*mine.args)
    for seed in range(40):
        query = vectors(1, seed=seed)[0]
        assert await reader.search_vector(query, 7, OPEN) == await store.reader.search_vector(query, 7, OPEN)
    await reader.close()
    await writer.close()


async def test_chunks_of_a_deleted_scope_are_gone_for_everyone(store: Opened) -> None:
    both = Filter({"team-a", "team-b"})
    await store.publish(publication("d"), publication("e", scope="team-b"))
    await store.writer.delete("e")
    assert {hit.chunk.scope for hit in await store.reader.search_vector(vectors(1)[0], 50, both)} == {"team-a"}
