"""The tree of documents and sections: searched at the top, opened downwards, and filtered at every step."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from steelyard_store import DimensionMismatch, Filter, InvalidPublication, InvalidQuery, Node, Tree
from tests.conformance.store.harness import Opened
from tests.conformance.store.samples import (
    DIMENSION,
    MODEL,
    OPEN,
    Float32,
    Publication,
    cosine,
    entry_ids,
    publication,
    tree_publication,
    vectors,
)

pytestmark = pytest.mark.anyio

QUERY = vectors(1, seed=7)[0]
SECTIONS = {"intro": ["alpha", "beta"], "body": ["gamma"], "detail": ["delta"]}
PARENTS = {"detail": "body"}


def nested(document_id: str = "d", **changes: object) -> Publication:
    return tree_publication(document_id, SECTIONS, parents=PARENTS, **changes)  # type: ignore[arg-type]


def close_to(query: Float32, *cosines: float) -> Float32:
    """Vectors with these cosines to `query`, best first as given."""
    rng = np.random.default_rng(3)
    unit = query / np.linalg.norm(query)
    rows = []
    for value in cosines:
        other = rng.standard_normal(len(query))
        other -= other @ unit * unit
        rows.append(value * unit + np.sqrt(1 - value**2) * other / np.linalg.norm(other))
    return np.array(rows, dtype=np.float32)


async def test_documents_and_sections_come_in_the_order_of_their_cosines(store: Opened) -> None:
    made = nested(node_matrix=close_to(QUERY, 0.2, 0.9, 0.5, 0.7))
    await store.publish(made)
    hits = await store.reader.search_tree(QUERY, 10, OPEN)
    assert entry_ids(hits) == ["d/intro", "d/detail", "d/body", "d/"]
    assert [hit.score for hit in hits] == pytest.approx([0.9, 0.7, 0.5, 0.2], abs=1e-6)
    assert made.tree is not None
    assert [hit.entry for hit in hits] == [made.tree.nodes[row] for row in (1, 3, 2, 0)]


async def test_no_more_than_k_come_back_and_ties_go_by_id(store: Opened) -> None:
    same = np.repeat(vectors(1, seed=1), 4, axis=0)
    await store.publish(nested("b", node_matrix=same), nested("a", node_matrix=same))
    assert entry_ids(await store.reader.search_tree(QUERY, 5, OPEN)) == ["a/", "a/body", "a/detail", "a/intro", "b/"]


async def test_children_are_sections_and_chunks_directly_below(store: Opened) -> None:
    made = nested()
    await store.publish(made)
    below = await store.reader.children(QUERY, ["d/body"], 10, OPEN)
    assert set(entry_ids(below)) == {"d/detail", "d#2"}
    assert set(entry_ids(await store.reader.children(QUERY, ["d/"], 10, OPEN))) == {"d/intro", "d/body"}
    assert entry_ids(await store.reader.children(QUERY, ["d/detail"], 10, OPEN)) == ["d#3"]
    assert made.tree is not None
    for hit in below:
        row = made.tree.vectors[3] if isinstance(hit.entry, Node) else made.vectors[2]  # type: ignore[index]
        assert hit.score == pytest.approx(cosine(QUERY, row), abs=1e-6)
        assert hit.entry in (made.tree.nodes[3], made.chunks[2])


async def test_children_of_several_nodes_share_one_cut(store: Opened) -> None:
    await store.publish(
        nested("a", chunk_matrix=close_to(QUERY, 0.9, 0.1, 0.2, 0.3), node_matrix=close_to(QUERY, 0, 0, 0, 0.8)),
        nested("b", chunk_matrix=close_to(QUERY, 0.85, 0.4, 0.5, 0.6)),
    )
    found = await store.reader.children(QUERY, ["b/intro", "a/intro", "a/body", "none"], 3, OPEN)
    assert entry_ids(found) == ["a#0", "b#0", "a/detail"]
    assert await store.reader.children(QUERY, [], 3, OPEN) == []


async def test_a_document_without_a_tree_takes_part_with_its_chunks(store: Opened) -> None:
    await store.publish(
        publication("old", matrix=close_to(QUERY, 0.6, 0.99, 0.1)),
        nested("new", node_matrix=close_to(QUERY, 0.7, 0.3, 0.3, 0.3), chunk_matrix=close_to(QUERY, 1, 1, 1, 1)),
    )
    assert entry_ids(await store.reader.search_tree(QUERY, 3, OPEN)) == ["old#1", "new/", "old#0"]


async def test_nobody_finds_a_node_of_another_scope_or_opens_it(store: Opened) -> None:
    await store.publish(nested("mine"), nested("theirs", scope="team-b"))
    found = entry_ids(await store.reader.search_tree(QUERY, 50, OPEN))
    assert {name.split("/")[0] for name in found} == {"mine"}
    assert len(found) == 4
    assert await store.reader.children(QUERY, ["theirs/", "theirs/intro"], 50, OPEN) == []


@pytest.mark.parametrize(
    "narrow", [Filter(OPEN.scopes, document_ids={"a"}), Filter(OPEN.scopes, sources={"a.txt"})], ids=["ids", "sources"]
)
async def test_documents_and_sources_narrow_both_steps(store: Opened, narrow: Filter) -> None:
    await store.publish(nested("a", source="a.txt"), nested("b", source="b.txt"), publication("c", source="c.txt"))
    found = entry_ids(await store.reader.search_tree(QUERY, 50, narrow))
    assert sorted(found) == ["a/", "a/body", "a/detail", "a/intro"]
    assert set(entry_ids(await store.reader.children(QUERY, ["a/intro", "b/intro"], 50, narrow))) == {"a#0", "a#1"}


async def test_the_tree_flips_with_its_revision(store: Opened) -> None:
    await store.publish(nested())
    await store.reader.search_tree(QUERY, 3, OPEN)
    await store.publish(tree_publication("d", {"only": ["new text"]}, revision="r2"))
    hits = await store.reader.search_tree(QUERY, 50, OPEN)
    assert sorted(entry_ids(hits)) == ["d/", "d/only"]
    assert {hit.entry.revision for hit in hits} == {"r2"}
    assert await store.reader.children(QUERY, ["d/intro", "d/body"], 50, OPEN) == []
    assert entry_ids(await store.reader.children(QUERY, ["d/only"], 50, OPEN)) == ["d#0"]


async def test_a_revision_without_a_tree_leaves_none_behind(store: Opened) -> None:
    await store.publish(nested(), publication("d", revision="r2"))
    assert set(entry_ids(await store.reader.search_tree(QUERY, 50, OPEN))) == {"d#0", "d#1", "d#2"}


async def test_a_deleted_document_takes_its_tree_along(store: Opened) -> None:
    await store.publish(nested("d"), nested("e"))
    await store.reader.search_tree(QUERY, 3, OPEN)
    await store.writer.delete("d")
    assert {name[0] for name in entry_ids(await store.reader.search_tree(QUERY, 50, OPEN))} == {"e"}
    assert await store.reader.children(QUERY, ["d/", "d/intro"], 50, OPEN) == []


async def test_publishing_the_visible_revision_again_changes_nothing(store: Opened) -> None:
    await store.publish(nested())
    before = await store.reader.search_tree(QUERY, 50, OPEN), await store.reader.check()
    assert (await store.writer.publish(*nested().args)).status == "unchanged"
    assert (await store.reader.search_tree(QUERY, 50, OPEN), await store.reader.check()) == before


async def test_a_new_handle_finds_the_same_tree(store: Opened) -> None:
    await store.publish(nested())
    fresh = store.place.reader(MODEL)
    assert await fresh.search_tree(QUERY, 50, OPEN) == await store.reader.search_tree(QUERY, 50, OPEN)
    assert await fresh.children(QUERY, ["d/"], 9, OPEN) == await store.reader.children(QUERY, ["d/"], 9, OPEN)
    await fresh.close()


async def test_an_empty_store_has_an_empty_tree(store: Opened) -> None:
    assert await store.reader.search_tree(QUERY, 5, OPEN) == []
    assert await store.reader.children(QUERY, ["d/"], 5, OPEN) == []


async def test_a_query_of_another_dimension_is_refused(store: Opened) -> None:
    await store.publish(nested())
    short = QUERY[: DIMENSION - 1]
    with pytest.raises(DimensionMismatch):
        await store.reader.search_tree(short, 3, OPEN)
    with pytest.raises(DimensionMismatch):
        await store.reader.children(short, ["d/"], 3, OPEN)


@pytest.mark.parametrize("k", [0, -1, True, 1.0, 10_001])
async def test_an_impossible_k_is_refused(store: Opened, k: int) -> None:
    with pytest.raises(InvalidQuery):
        await store.reader.search_tree(QUERY, k, OPEN)
    with pytest.raises(InvalidQuery):
        await store.reader.children(QUERY, ["d/"], k, OPEN)


def _with_nodes(made: Publication, *nodes: Node) -> Publication:
    return replace(made, tree=Tree(nodes, vectors(len(nodes))))


def _spoilt() -> dict[str, Publication]:
    good = nested()
    assert good.tree is not None
    root, intro, body, detail = good.tree.nodes
    return {
        "no nodes": _with_nodes(good),
        "two roots": _with_nodes(good, root, replace(intro, parent_id=None), body, detail),
        "no root": _with_nodes(good, intro, body, detail),
        "a parent that is none": _with_nodes(good, root, intro, body, replace(detail, parent_id="d/none")),
        "a circle": _with_nodes(good, root, intro, replace(body, parent_id="d/detail"), detail),
        "an id twice": _with_nodes(good, root, intro, body, replace(detail, node_id="d/body")),
        "an ordinal twice": _with_nodes(good, root, intro, body, replace(detail, ordinal=1)),
        "another scope": _with_nodes(good, root, intro, body, replace(detail, scope="public")),
        "another revision": _with_nodes(good, root, intro, body, replace(detail, revision="r0")),
        "another source": _with_nodes(good, root, intro, body, replace(detail, source="x.txt")),
        "a node over nothing": _with_nodes(good, *good.tree.nodes, replace(intro, node_id="d/empty", ordinal=9)),
        "a chunk below no node": replace(good, chunks=[*good.chunks[:3], replace(good.chunks[3], parent_id="d/no")]),
        "a chunk without a parent": replace(good, chunks=[*good.chunks[:3], replace(good.chunks[3], parent_id=None)]),
        "too few vectors": replace(good, tree=Tree(good.tree.nodes, vectors(3))),
        "a zero vector": replace(good, tree=Tree(good.tree.nodes, vectors(4) * [[1], [1], [0], [1]])),
        "a lone surrogate": _with_nodes(good, root, intro, body, replace(detail, abstract="\ud800")),
    }


@pytest.mark.parametrize("spoilt", _spoilt().values(), ids=_spoilt())
async def test_a_tree_that_does_not_fit_is_refused_whole(store: Opened, spoilt: Publication) -> None:
    with pytest.raises(InvalidPublication):
        await store.writer.publish(*spoilt.args)
    assert (await store.reader.check()).documents == 0


async def test_node_vectors_of_another_dimension_are_refused(store: Opened) -> None:
    good = nested()
    assert good.tree is not None
    with pytest.raises(DimensionMismatch):
        await store.writer.publish(*replace(good, tree=Tree(good.tree.nodes, np.ones((4, 3)))).args)


async def test_a_node_id_of_another_document_is_refused(store: Opened) -> None:
    await store.publish(nested("d"))
    other = tree_publication("e", {"intro": ["text"]})
    assert other.tree is not None
    stolen = replace(other.tree.nodes[1], node_id="d/intro")
    chunk = replace(other.chunks[0], parent_id="d/intro")
    with pytest.raises(InvalidPublication):
        await store.writer.publish(*replace(_with_nodes(other, other.tree.nodes[0], stolen), chunks=[chunk]).args)
    assert (await store.reader.check()).documents == 1


async def test_random_walks_through_the_tree_stay_in_their_scopes(store: Opened) -> None:
    rng = random.Random(23)
    scopes = [f"scope-{number}" for number in range(4)]
    owner = {}
    for number in range(24):
        name, scope = f"d{number:02}", rng.choice(scopes)
        owner[name] = scope
        made = nested(name, scope=scope) if rng.random() < 0.8 else publication(name, scope=scope)
        await store.writer.publish(*made.args)
    everything = Filter(scopes)
    nodes = [hit.entry_id for hit in await store.reader.search_tree(QUERY, 500, everything)]
    for seed in range(40):
        chosen = frozenset(rng.sample(scopes, rng.randint(1, 2)))
        query, narrow = vectors(1, seed=seed)[0], Filter(chosen)
        allowed = {name for name, scope in owner.items() if scope in chosen}
        found = await store.reader.search_tree(query, 500, narrow)
        assert {hit.entry.document_id for hit in found} == allowed
        asked = rng.sample(nodes, 12)
        opened = await store.reader.children(query, asked, 500, narrow)
        assert {hit.entry.document_id for hit in opened} <= allowed
        wanted = {name for name in asked if name[:3] in allowed and "#" not in name}
        assert {hit.entry.parent_id for hit in opened} == wanted
