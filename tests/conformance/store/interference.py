"""Non-interference: the retriever's replies are the same bytes whatever other scopes hold.

    python -m tests.conformance.store.interference --store embedded --searches 100000     # `make interference`

A world is two stores with one history: documents published, replaced and deleted, in one store those of all scopes, in
the other those of the caller's alone. Both are searched in between with the same requests, of every search type, with
filters, by the retriever's own code. A reply that differs in one byte, and a text of another scope that is shown to
anyone, is a leak. Prints n and every leak; the exit status is the number of leaks, at most 1.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from steelyard_contracts.documents import SearchedMultimodalDoc
from steelyard_contracts.enums import HierarchicalMode, ScoreKind, SearchType
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_retriever.retriever import Retriever
from steelyard_retriever.settings import RetrieverSettings
from steelyard_store import ChunkWriter
from tests.conformance.store.harness import STORES, StoreUnderTest
from tests.conformance.store.samples import (
    MODEL,
    Float32,
    Publication,
    publication,
    tree_publication,
    vectors,
)

SCOPES = ("north", "North", "north-2", "south", "east")
"""Some are alike: what is compared by prefix or without case is a leak as well."""
_MARK = dict(zip(SCOPES, ("zirbé", "zorbé", "zurbé", "zyrbé", "zarbé"), strict=True))
"""A word that only the texts of one scope have, which a leak can be read off by; no vector in Base64 has é."""
_WORDS = tuple(f"{first}{second}" for first in ("am", "bi", "ce", "de", "em", "fj") for second in ("ber", "rch", "dar"))
_SOURCES = ("a.txt", "b.txt", "c.txt")
_NAMES = 40
FIRST_CHANGES = 36
CHANGES = 6
"""Changes to the documents before the first searches of a world, and between the later ones."""
ROUND = 25
ROUNDS = 8
"""Searches between two changes, and how often that is repeated in one world."""


class LengthRescorer:
    """Scores a text by its letters alone, so equal texts get equal scores in any company; notes what it is shown."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        assert query
        self.seen.extend(texts)
        return [sum(map(ord, text)) % 97 / 97 for text in texts]


@dataclass
class Report:
    """What came of all searches; `shown` counts candidates, `kinds` searches by type."""

    searches: int = 0
    shown: int = 0
    worlds: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)
    compared: int = 0

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        return (
            f"{len(self.leaks)} leaks in {self.searches} searches ({kinds}) of {self.worlds} worlds; "
            f"{self.compared} compared byte by byte, {self.shown} texts shown"
        )


class _Side:
    """One store of a world, and the retriever on it."""

    def __init__(self, place: StoreUnderTest, settings: RetrieverSettings) -> None:
        self.place = place
        self.rescorer = LengthRescorer()
        self.writer: ChunkWriter = place.writer()
        self._reader = place.reader(MODEL)
        # The embedding service is asked by the readiness probe only.
        self.retriever = Retriever(self._reader, cast(Any, None), cast(Any, self.rescorer), settings)

    async def close(self) -> None:
        await self._reader.close()
        await self.writer.close()

    async def reply(self, request: RetrievalRequest) -> tuple[SearchedMultimodalDoc, list[str]]:
        """The reply, and what the reranker was shown for it."""
        self.rescorer.seen = []
        return await self.retriever.retrieve(request, "hash"), self.rescorer.seen


class World:
    """Two stores that differ in what scopes other than the caller's hold, and the history that both go through."""

    def __init__(self, rng: random.Random, among: _Side, alone: _Side) -> None:
        self._rng = rng
        self._among = among
        self._alone = alone
        self.caller = sorted(rng.sample(SCOPES, rng.randint(1, 2)))
        self._there: dict[str, tuple[str, int]] = {}
        """Scope and number of the revision of each document that is there."""
        self._revisions = 0
        # Others' texts are longer or shorter and use the caller's words more or less, differently in each world.
        self._lengths = {scope: rng.choice((3, 6, 30)) for scope in SCOPES}
        self._favourites = {scope: rng.sample(_WORDS, rng.randint(3, len(_WORDS))) for scope in SCOPES}

    async def change(self, times: int) -> None:
        """Publish, replace and delete documents; the caller's in both stores, others' in one."""
        for _ in range(times):
            name = f"d{self._rng.randrange(_NAMES):02}"
            known = self._there.get(name)
            if known is not None and self._rng.random() < 0.3:
                del self._there[name]
                for side in self._sides(known[0]):
                    await side.writer.delete(name)
                continue
            scope = self._rng.choice(SCOPES) if known is None else known[0]
            self._revisions += 1
            self._there[name] = scope, self._revisions
            made = self._publication(name, scope)
            for side in self._sides(scope):
                await side.writer.publish(*made.args)
        for side in (self._among, self._alone):
            await side.place.settle()

    def _sides(self, scope: str) -> list[_Side]:
        return [self._among, self._alone] if scope in self.caller else [self._among]

    def _publication(self, name: str, scope: str) -> Publication:
        rng = self._rng
        texts = [
            f"{_MARK[scope]} {' '.join(rng.choices(self._favourites[scope], k=rng.randint(1, self._lengths[scope])))}"
            for _ in range(rng.randint(1, 5))
        ]
        common: dict[str, Any] = {
            "revision": f"r{self._revisions}",
            "scope": scope,
            "source": rng.choice(_SOURCES),
            "title": f"{_MARK[scope]} {rng.choice(_WORDS)}",
        }
        if rng.random() < 0.3:
            return publication(name, texts, matrix=self._vectors(len(texts)), **common)
        cut = rng.randint(1, len(texts))
        sections = {f"{_MARK[scope]} one": texts[:cut], f"{_MARK[scope]} two": texts[cut:]}
        sections = {title: below for title, below in sections.items() if below}
        parents = {f"{_MARK[scope]} two": f"{_MARK[scope]} one"} if rng.random() < 0.5 else {}
        return tree_publication(
            name,
            sections,
            parents=parents if len(sections) == 2 else {},
            chunk_matrix=self._vectors(len(texts)),
            node_matrix=self._vectors(len(sections) + 1),
            **common,
        )

    def _vectors(self, count: int) -> Float32:
        """Some documents of different scopes have the same vectors, so that scores are equal."""
        return vectors(count, seed=self._rng.choice((self._rng.randrange(20), self._rng.randrange(10**9))))

    def request(self) -> dict[str, Any]:
        """A request of the caller's."""
        rng = self._rng
        kind = rng.choice(list(SearchType))
        close = rng.random() < 0.5
        query = vectors(1, seed=rng.randrange(20) if close else rng.randrange(10**9))[0]
        if close:
            query = query + np.float32(0.05) * vectors(1, seed=rng.randrange(10**9))[0]
        fields: dict[str, Any] = {
            "search_type": kind,
            "text": " ".join(rng.sample((*_WORDS, *_MARK.values(), "unheard"), rng.randint(1, 6))),
            "embedding": query.tolist(),
            "k": rng.choice((1, 2, 4, 10, 60)),
            "fetch_k": rng.choice((1, 4, 20)),
            "lambda_mult": rng.choice((0.0, 0.5, 1.0)),
            "score_threshold": rng.choice((-1.0, 0.0, 0.2)),
            "distance_threshold": rng.choice((0.5, 1.0, 2.0)),
            "reranking_strategy": rng.choice(("adaptive", "slice")),
            "scopes": self.caller if rng.random() < 0.8 else [rng.choice(self.caller)],
        }
        if kind is SearchType.HIERARCHICAL:
            fields["hierarchical_mode"] = rng.choice(list(HierarchicalMode))
        constraints: dict[str, Any] = {}
        if rng.random() < 0.2:
            constraints["document_ids"] = [f"d{number:02}" for number in rng.sample(range(_NAMES), rng.randint(0, 20))]
        if rng.random() < 0.2:
            constraints["sources"] = rng.sample(_SOURCES, rng.randint(0, 2))
        return fields | ({"constraints": constraints} if constraints else {})

    async def search(self, report: Report, *, shared_statistics: bool) -> None:
        """Ask both stores for the same, now and then after another caller of the shared one has asked for it."""
        fields = self.request()
        if self._rng.random() < 0.2:
            others = [scope for scope in SCOPES if scope not in self.caller]
            await self._among.reply(RetrievalRequest(**{**fields, "scopes": others}))
        found, seen = await self._among.reply(RetrievalRequest(**fields))
        report.searches += 1
        report.shown += len(found.retrieved_docs)
        report.kinds[fields["search_type"]] += 1
        label = f"world {report.worlds}, {fields['search_type']}, k={fields['k']}, {fields.get('constraints')}"
        hidden = [mark for scope, mark in _MARK.items() if scope not in fields["scopes"]]
        shown = "\n".join([found.model_dump_json(exclude={"initial_query"}), *seen])
        if strange := [mark for mark in hidden if mark in shown]:
            report.leaks.append(f"{label}: shows {strange}")
        if shared_statistics and found.score_kind is ScoreKind.RRF:
            return
        report.compared += 1
        expected, expected_seen = await self._alone.reply(RetrievalRequest(**fields))
        if (found.model_dump_json(), seen) != (expected.model_dump_json(), expected_seen):
            report.leaks.append(f"{label}: depends on what others hold")


@asynccontextmanager
async def _world(kind: str, rng: random.Random, folder: Path) -> AsyncIterator[World]:
    settings = RetrieverSettings(steelyard_scopes=SCOPES)
    async with AsyncExitStack() as stack:
        sides = []
        for name in ("among", "alone"):
            (folder / name).mkdir()
            side = _Side(STORES[kind].fresh(folder / name), settings)
            stack.push_async_callback(side.close)
            await side.writer.initialise(MODEL)
            sides.append(side)
        yield World(rng, *sides)
        for side in sides:
            side.place.remove()


async def run(kind: str, searches: int, seed: int = 0, *, stop_at_first: bool = False) -> Report:
    """Search worlds of one kind of store; `stop_at_first` ends with the first leak."""
    report = Report()
    shared = not STORES[kind].counts_words_by_scope
    while report.searches < searches:
        with tempfile.TemporaryDirectory() as folder:
            async with _world(kind, random.Random(f"{seed} {report.worlds}"), Path(folder)) as world:
                for number in range(ROUNDS):
                    await world.change(CHANGES if number else FIRST_CHANGES)
                    for _ in range(min(ROUND, searches - report.searches)):
                        await world.search(report, shared_statistics=shared)
                        if report.leaks and stop_at_first:
                            return report
        report.worlds += 1
    return report


def main() -> int:
    """Run one kind of store and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=[kind for kind in STORES if not kind.endswith("_live")], default="embedded")
    parser.add_argument("--searches", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    report = asyncio.run(run(options.store, options.searches, options.seed))
    for leak in report.leaks[:100]:
        print(leak)
    print(f"{options.store}: {report} (0 of n only bounds the rate at {3 / report.searches:.6f})")
    return min(1, len(report.leaks))


if __name__ == "__main__":
    raise SystemExit(main())
