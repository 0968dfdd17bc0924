"""Search of the document tree: set in at the best documents and sections, and open what passes, level by level.

The shape is that of hierarchical retrieval with score propagation: a child's score is its own blended with its
parent's, so that a passage counts for more in a section that fits the question than alone.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from steelyard_contracts.documents import TreeParent, TreeReport
from steelyard_contracts.enums import HierarchicalMode, ScoreKind, Stage, TreeStop
from steelyard_contracts.errors import UpstreamError
from steelyard_contracts.ledger import Degradation
from steelyard_contracts.retrieval import RetrievalRequest
from steelyard_store.port import ChunkReader
from steelyard_store.records import Chunk, Filter
from steelyard_store.tree import Node, TreeHit

from .found import Candidate, Found
from .rescoring import Rescorer

Query = npt.NDArray[np.float32]

GLOBAL_SEARCH_TOPK = 10
"""Documents and sections that a search sets in at."""
ALPHA = 0.5
"""Weight of an entry's own score against its parent's: neither a good passage nor a good section decides alone."""
THRESHOLDS = {HierarchicalMode.QUICK: 0.0, HierarchicalMode.THINKING: 0.05}
"""What a blended score must exceed. Cosines of unrelated texts scatter around 0, and rerank scores of texts that have
nothing to do with the question lie near 0, so these drop what can not be meant and leave the choice to selection."""
CHILDREN_PER_ROUND = 64
"""Entries that one round looks at, the nearest by cosine; with them, a round is one request to the reranker."""
RERANK_BUDGET = 160
"""Texts that one search may have judged: two full rounds and more, a few seconds of a cross-encoder on a CPU."""
UNCHANGED_ROUNDS = 2
"""Rounds without a change among the best candidates after which deeper levels are not opened any more."""
ROUNDS_OF_TIME = 2
"""How many times its slowest round a search must have left to begin another: that one may be slower still."""

POLICY = {
    "top_k": GLOBAL_SEARCH_TOPK,
    "alpha": ALPHA,
    "thresholds": {str(mode): value for mode, value in THRESHOLDS.items()},
    "children_per_round": CHILDREN_PER_ROUND,
    "rerank_budget": RERANK_BUDGET,
    "unchanged_rounds": UNCHANGED_ROUNDS,
}


@dataclass(frozen=True, slots=True)
class _Place:
    """An entry that passed, its blended score, and the way that led to it."""

    hit: TreeHit
    score: float
    parents: tuple[TreeParent, ...]


@dataclass(slots=True)
class _State:
    """What a search has met so far; `nodes` and `chunks` by id."""

    nodes: dict[str, _Place] = field(default_factory=dict)
    chunks: dict[str, _Place] = field(default_factory=dict)
    rounds: int = 0
    reranked: int = 0
    vanished: int = 0


async def hierarchical(
    store: ChunkReader,
    rescorer: Rescorer,
    request: RetrievalRequest,
    query: Query,
    allowed: Filter,
    remaining: Callable[[], float | None],
) -> Found:
    """Search the tree in the mode that `request` names; `remaining` gives the seconds until its deadline.

    When the reranker fails at any level, all levels are searched again by cosine: scores of two scales never stand in
    one list. The reply is then degraded. Raises StoreError.
    """

    def descent(mode: HierarchicalMode) -> _Descent:
        return _Descent(store, rescorer, request, query, allowed, mode, remaining)

    if request.hierarchical_mode is HierarchicalMode.QUICK:
        return await descent(HierarchicalMode.QUICK).run()
    try:
        return await descent(HierarchicalMode.THINKING).run()
    except UpstreamError as error:
        failed = Degradation(stage=Stage.RETRIEVER, reason="hierarchical_rerank_failed", detail=error.detail)
        return replace(await descent(HierarchicalMode.QUICK).run(), degraded=failed)


class _Descent:
    """One search in one mode."""

    def __init__(
        self,
        store: ChunkReader,
        rescorer: Rescorer,
        request: RetrievalRequest,
        query: Query,
        allowed: Filter,
        mode: HierarchicalMode,
        remaining: Callable[[], float | None],
    ) -> None:
        self._store = store
        self._rescorer = rescorer
        self._request = request
        self._query = query
        self._allowed = allowed
        self._mode = mode
        self._remaining = remaining
        self._threshold = THRESHOLDS[mode]
        self._state = _State()

    async def run(self) -> Found:
        clock = asyncio.get_running_loop().time
        state = self._state
        unchanged, longest, started = 0, 0.0, clock()
        hits = await self._store.search_tree(self._query, GLOBAL_SEARCH_TOPK, self._allowed)
        closed = self._keep(await self._judged(hits), {})
        while True:
            now = clock()
            longest, started = max(longest, now - started), now
            stop = self._stop(closed, unchanged, longest)
            if stop is not None:
                return self._found(stop)
            before = self._best()
            limit = self._limit()
            hits = await self._store.children(self._query, closed, limit, self._allowed)
            if len(hits) < limit:
                state.vanished += len(set(closed) - {hit.entry.parent_id for hit in hits})
            met = [hit for hit in hits if hit.entry_id not in state.nodes]
            closed = self._keep(await self._judged(met), dict(state.nodes))
            state.rounds += 1
            unchanged = unchanged + 1 if before and before == self._best() else 0

    def _stop(self, closed: Sequence[str], unchanged: int, longest: float) -> TreeStop | None:
        if self._limit() < 1:
            return TreeStop.BUDGET
        if not closed:
            return TreeStop.EXHAUSTED
        if unchanged >= UNCHANGED_ROUNDS:
            return TreeStop.CONVERGED
        left = self._remaining()
        if left is not None and left < ROUNDS_OF_TIME * longest:
            return TreeStop.DEADLINE
        return None

    def _limit(self) -> int:
        """How many entries the next round may look at."""
        if self._mode is HierarchicalMode.QUICK:
            return max(CHILDREN_PER_ROUND, self._request.k)
        return min(CHILDREN_PER_ROUND, RERANK_BUDGET - self._state.reranked)

    async def _judged(self, hits: Sequence[TreeHit]) -> list[tuple[TreeHit, float | None]]:
        """Each hit with its own score; None for a blank text, and for one that the reranker could not read."""
        if self._mode is HierarchicalMode.QUICK:
            return [(hit, hit.score) for hit in hits]
        texts = {hit.entry_id: text for hit in hits if (text := _text(hit.entry))}
        scores: dict[str, float | None] = {}
        if texts:
            given = await self._rescorer.scores(self._request.text, list(texts.values()))
            scores = dict(zip(texts, given, strict=True))
            self._state.reranked += len(texts)
        return [(hit, scores.get(hit.entry_id)) for hit in hits]

    def _keep(self, judged: Iterable[tuple[TreeHit, float | None]], opened: Mapping[str, _Place]) -> list[str]:
        """Note the entries that pass, and return the ids of the nodes among them; `opened` are those they may be below.

        What could not be judged stands at the threshold: it is looked into, behind all that passed, in the order of
        its cosine.
        """
        closed = []
        for hit, own in judged:
            above = opened.get(hit.entry.parent_id or "")
            score = self._threshold if own is None else own
            if own is not None and above is not None:
                score = ALPHA * own + (1 - ALPHA) * above.score
            if own is not None and score <= self._threshold:
                continue
            place = _Place(hit, score, () if above is None else (*above.parents, _parent(above)))
            if isinstance(hit.entry, Node):
                self._state.nodes[hit.entry_id] = place
                closed.append(hit.entry_id)
            else:
                self._state.chunks[hit.entry_id] = place
        return closed

    def _best(self) -> list[str]:
        return [place.hit.entry_id for place in self._ranked()]

    def _ranked(self) -> list[_Place]:
        places = self._state.chunks.values()
        return sorted(places, key=lambda place: (-place.score, -place.hit.score, place.hit.entry_id))[: self._request.k]

    def _found(self, stop: TreeStop) -> Found:
        state = self._state
        cut = Degradation(
            stage=Stage.RETRIEVER,
            reason="hierarchical_deadline",
            detail=f"there was no time for another round after {state.rounds}",
        )
        return Found(
            tuple(candidate for place in self._ranked() if (candidate := _candidate(place)) is not None),
            ScoreKind.TREE,
            degraded=cut if stop is TreeStop.DEADLINE else None,
            vanished=state.vanished,
            tree=TreeReport(mode=self._mode, rounds=state.rounds, reranked=state.reranked, stopped=stop),
        )


def _text(entry: Node | Chunk) -> str | None:
    """What the reranker is given of an entry; None when it has nothing to say."""
    if isinstance(entry, Chunk):
        return entry.text if entry.text.strip() else None
    return f"{entry.title}\n{entry.abstract}".strip() if entry.abstract.strip() else None


def _parent(place: _Place) -> TreeParent:
    node = place.hit.entry
    return TreeParent(node_id=place.hit.entry_id, title=node.title, score=place.score)


def _candidate(place: _Place) -> Candidate | None:
    if isinstance(place.hit.entry, Node):
        return None
    scores = {ScoreKind.TREE: place.score, ScoreKind.COSINE: place.hit.score}
    return Candidate(place.hit.entry, scores, place.parents)
