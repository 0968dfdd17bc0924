"""Non-interference: what a caller sees does not depend on what other scopes hold, in any search type.

Each store is filled twice, once with the caller's documents alone and once with others' among them, and the retriever's
own searches are run on both. Lexical scores are left out of the comparison: BM25's word statistics are the whole
store's, as services/store/README.md says; which chunks are found and what is in them is not.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from steelyard_contracts.enums import HierarchicalMode, ScoreKind
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_retriever.found import Found
from steelyard_retriever.search import search
from steelyard_store import ChunkReader, Filter
from tests.conformance.store.harness import STORES, Opened
from tests.conformance.store.samples import MODEL, Publication, publication, tree_publication, vectors

pytestmark = pytest.mark.anyio

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty"]
SCOPES = ["north", "south", "east", "west"]
DOCUMENTS = 40
QUERIES = 60
SEARCHES: tuple[dict[str, Any], ...] = (
    {"search_type": "similarity"},
    {"search_type": "hybrid"},
    {"search_type": "hierarchical", "hierarchical_mode": "quick"},
    {"search_type": "hierarchical", "hierarchical_mode": "thinking"},
)


class LengthRescorer:
    """Scores a text by its letters alone, so equal texts get equal scores in any company; notes what it is shown."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    async def scores(self, query: str, texts: list[str]) -> list[float | None]:
        assert query
        self.seen.update(texts)
        return [sum(map(ord, text)) % 97 / 97 for text in texts]


def random_publications(rng: random.Random) -> list[Publication]:
    """Documents of all scopes, some with a tree; each text names its scope, so that a leak can be read off it."""
    made = []
    for number in range(DOCUMENTS):
        name, scope = f"d{number:02}", rng.choice(SCOPES)
        texts = [f"{scope} {' '.join(rng.sample(WORDS, 4))}" for _ in range(4)]
        if rng.random() < 0.7:
            sections = {f"{scope} one": texts[:2], f"{scope} two": texts[2:]}
            parents = {f"{scope} two": f"{scope} one"} if rng.random() < 0.5 else {}
            made.append(tree_publication(name, sections, parents=parents, scope=scope, title=scope))
        else:
            made.append(publication(name, texts, scope=scope, title=scope))
    return made


async def ask(reader: ChunkReader, rescorer: Any, seed: int, fields: dict[str, Any], scopes: set[str]) -> Found:
    query = vectors(1, seed=seed)[0]
    text = " ".join(random.Random(seed).sample(WORDS, 3))
    request = RetrievalRequest(text=text, embedding=query.tolist(), k=15, **fields)
    return await search(reader, rescorer, request, query, Filter(scopes))


def view(found: Found) -> list[tuple[Any, ...]]:
    """What the caller can tell of a result, without BM25's scores."""
    return [
        (one.chunk, {kind: score for kind, score in one.scores.items() if kind is not ScoreKind.BM25}, one.parents)
        for one in found.candidates
    ]


async def test_no_search_shows_or_depends_on_what_other_scopes_hold(
    store: Opened, kind: str, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(41)
    made = random_publications(rng)
    await store.publish(*made)
    caller = {"north", "south"}
    alone = STORES[kind].fresh(tmp_path_factory.mktemp("alone"))
    writer, reader = alone.writer(), alone.reader(MODEL)
    await writer.initialise(MODEL)
    for one in made:
        if one.document.scope in caller:
            await writer.publish(*one.args)
    await alone.settle()
    asked = seen = 0
    for seed, fields in itertools.product(range(QUERIES), SEARCHES):
        scopes = set(rng.sample(SCOPES, rng.randint(1, 2)))
        rescorer = LengthRescorer()
        found = await ask(store.reader, rescorer, seed, fields, scopes)
        shown = {one.chunk.scope for one in found.candidates} | {one.chunk.text.split()[0] for one in found.candidates}
        titles = [parent.title for one in found.candidates for parent in one.parents or ()]
        assert shown | {title.split()[0] for title in titles} | {text.split()[0] for text in rescorer.seen} <= scopes
        asked, seen = asked + 1, seen + len(found.candidates) + len(titles) + len(rescorer.seen)
        if fields["search_type"] != "hybrid":  # its ranks follow BM25, whose statistics are shared
            among = view(await ask(store.reader, LengthRescorer(), seed, fields, caller))
            assert among == view(await ask(reader, LengthRescorer(), seed, fields, caller))
    await reader.close()
    await writer.close()
    assert {mode for fields in SEARCHES if (mode := fields.get("hierarchical_mode"))} == set(HierarchicalMode)
    assert seen > 10 * asked
    with capsys.disabled():
        print(f"\n{kind}: 0 leaks in {asked} searches, {seen} texts and titles looked at")
