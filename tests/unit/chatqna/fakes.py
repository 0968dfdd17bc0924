"""Doubles of the gateway's neighbours, and evidence written down in one line."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter
from pydantic import BaseModel

from steelyard_chatqna.ask import Ask
from steelyard_chatqna.llm.client import Delta
from steelyard_chatqna.parts import Parts
from steelyard_chatqna.pipeline.evidence import Chunk, Evidence
from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_contracts.chat import EvidenceOverrides
from steelyard_contracts.documents import CandidateMetadata
from steelyard_contracts.enums import Fate, Reason, ScoreKind, Stage
from steelyard_contracts.ledger import Degradation, LedgerEntry, ValueTerms
from steelyard_contracts.vectors import Vector
from steelyard_runtime import context
from steelyard_runtime.floors import CosineFloors
from steelyard_runtime.upstream.http import Upstream

Result = TypeVar("Result")

QUESTION = "Which seal is approved for AX-104-B?"
SEAL = "The approved seal for AX-104-B is ZQ-77."
TORQUE = "The cover bolts are tightened to 35 Nm in two passes."
GREASE = "Grease LG-2 is renewed every 500 operating hours."
TEXTS = {"a": SEAL, "b": TORQUE, "c": GREASE}
QUERY = Vector.from_floats([1.0, 1.0])


def run(work: Callable[[], Awaitable[Result]], deadline_s: float = 20.0) -> Result:
    """Run `work` as one request."""

    async def main() -> Result:
        context.bind(context.RequestContext("req-1", asyncio.get_running_loop().time() + deadline_s))
        return await work()

    return asyncio.run(main())


def metadata(chunk_id: str, text: str, **changes: Any) -> CandidateMetadata:
    fields: dict[str, Any] = {
        "chunk_id": chunk_id,
        "document_id": f"doc-{chunk_id}",
        "revision": "1",
        "source": f"SOURCE-{chunk_id}.md",
        "title": f"TITLE-{chunk_id}",
        "section": f"SECTION-{chunk_id}",
        "char_start": 10,
        "char_end": 10 + len(text),
        "scope": "public",
        "tokens": len(text.split()),
        "scores": {"cosine": 0.5},
    }
    return CandidateMetadata.model_validate(fields | changes)


def terms(value: float) -> ValueTerms:
    return ValueTerms(
        relevance=0.0,
        novelty=0.0,
        novelty_weight=0.0,
        utility=0.0,
        token_count=1,
        token_cost=0.0,
        confusion_cost=0.0,
        cost=0.0,
        value=value,
    )


def entry(
    chunk_id: str, rank: int | None, *, score: float | None = 0.9, value: float | None = None, **changes: Any
) -> LedgerEntry:
    scores = {ScoreKind.COSINE: 0.5} | ({} if score is None else {ScoreKind.RERANK: score})
    fields: dict[str, Any] = {
        "chunk_id": chunk_id,
        "retrieval_rank": ord(chunk_id[0]) - ord("a") + 1,
        "scores": scores,
        "value": None if value is None else terms(value),
        "fate": Fate.DROPPED if rank is None else Fate.SENT,
        "reason": Reason.OVER_TOP_N if rank is None else Reason.SELECTED,
        "rank": rank,
    }
    return LedgerEntry(**(fields | changes))


def ask(question: str = QUESTION, settings: dict[str, Any] | None = None, **overrides: Any) -> Ask:
    return Ask.of(question, EvidenceOverrides(**overrides), ChatqnaSettings(**{"auth": "off"} | (settings or {})))


def evidence(
    selected: Sequence[str] = ("a", "b"),
    texts: Mapping[str, str] = TEXTS,
    *,
    entries: Sequence[LedgerEntry] | None = None,
    kind: ScoreKind = ScoreKind.RERANK,
    degraded: Sequence[Degradation] = (),
    question: str = QUESTION,
) -> Evidence:
    """All of `texts` are candidates; `selected` are sent in that order."""
    chunks = {chunk_id: Chunk(chunk_id, text, metadata(chunk_id, text)) for chunk_id, text in texts.items()}
    ranks = {chunk_id: rank for rank, chunk_id in enumerate(selected, start=1)}
    return Evidence(
        ask=ask(question),
        query=QUERY,
        candidates=tuple(chunks.values()),
        selected=tuple(chunks[chunk_id] for chunk_id in selected),
        entries=tuple(entry(chunk_id, ranks.get(chunk_id)) for chunk_id in texts)
        if entries is None
        else tuple(entries),
        score_kind=kind,
        degraded=tuple(degraded),
        policy_hash="policy",
        selection_settings={"min_value_threshold": -1.0},
    )


LATE = Degradation(stage=Stage.RERANKER, reason="upstream_timeout", detail="late")


class WordCounter:
    """Counts words, so that a test can add up by hand."""

    name = "words"
    exact = True

    def __init__(self) -> None:
        self.counted: list[list[dict[str, str]]] = []
        self.forgotten = 0

    def forget(self) -> None:
        self.forgotten += 1

    async def count(self, messages: Sequence[Mapping[str, str]]) -> int:
        self.counted.append([dict(message) for message in messages])
        return sum(len(message["content"].split()) for message in messages)


@dataclass
class FakeLlm:
    """A model that says `pieces`, each a read of its own; an exception among them is raised in its turn.

    `hold` is waited for before the piece of that number. `open` says whether a completion is being read.
    """

    pieces: Sequence[str | list[Delta] | Exception] = ()
    hold: dict[int, asyncio.Event] = field(default_factory=dict)
    asked: list[tuple[list[dict[str, str]], dict[str, Any]]] = field(default_factory=list)
    open: bool = False
    closed: int = 0
    reached: int = 0

    @asynccontextmanager
    async def chat(
        self, messages: Sequence[Mapping[str, str]], sampling: Mapping[str, Any]
    ) -> AsyncIterator[AsyncIterator[list[Delta]]]:
        self.asked.append(([dict(message) for message in messages], dict(sampling)))
        self.open = True
        try:
            yield self._reads()
        finally:
            self.open = False
            self.closed += 1

    async def _reads(self) -> AsyncIterator[list[Delta]]:
        for number, piece in enumerate(self.pieces):
            self.reached = number
            if number in self.hold:
                await self.hold[number].wait()
            if isinstance(piece, Exception):
                raise piece
            yield [Delta(piece)] if isinstance(piece, str) else piece


def words(text: str) -> list[str]:
    """A text as a model streams it."""
    return re.findall(r"\s*\S+", text)


class FakeUpstream(Upstream):
    """A neighbour that answers every POST with `answer(payload)`, or raises what that is."""

    def __init__(self, stage: Stage, answer: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(stage, "http://unused")
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any], float]] = []

    async def post(self, path: str, payload: Any, reply: type[Any], *, share: float = 1.0) -> Any:
        body = payload.model_dump(mode="json", exclude_none=True) if isinstance(payload, BaseModel) else dict(payload)
        self.asked.append((path, body, share))
        answered = self.answer(body)
        if isinstance(answered, Exception):
            raise answered
        return reply.model_validate(answered)


def embedded(_body: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": "fake",
        "model_revision": "r1",
        "data": [{"index": 0, "embedding": QUERY.to_base64()}],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


def retrieved(body: dict[str, Any], texts: Mapping[str, str] = TEXTS) -> dict[str, Any]:
    adaptive = body.get("reranking_strategy") == "adaptive"
    entries = [
        metadata(chunk_id, text, scores={"cosine": 0.9 - number / 10}).model_dump(mode="json", exclude_none=True)
        for number, (chunk_id, text) in enumerate(texts.items())
    ]
    if adaptive:
        for number, one in enumerate(entries):
            one["chunk_embedding"] = [1.0, float(number)]
    return {
        "retrieved_docs": [{"id": chunk_id, "text": text} for chunk_id, text in texts.items()],
        "initial_query": body["text"],
        "metadata": entries,
        "outcome": "ok" if entries else "empty",
        "policy_hash": "retriever-policy",
        **({"embedding": body["embedding"]} if adaptive else {}),
    }


def reranked(
    body: dict[str, Any], keep: Sequence[str] | None = None, *, kind: str = "rerank", **changes: Any
) -> dict[str, Any]:
    """A reply that keeps `keep` (by default the first two) in that order, with scores of `kind`."""
    entries = {one["chunk_id"]: one for one in body["metadata"]}
    ids = list(entries)
    kept = list(ids[:2] if keep is None else keep)
    texts = {one["chunk_id"]: doc["text"] for one, doc in zip(body["metadata"], body["retrieved_docs"], strict=True)}
    ledger = [
        {
            "chunk_id": chunk_id,
            "document_id": entries[chunk_id]["document_id"],
            "retrieval_rank": number,
            "scores": entries[chunk_id]["scores"] | ({"rerank": 0.9} if kind == "rerank" else {}),
            "fate": "sent" if chunk_id in kept else "dropped",
            "reason": "selected" if chunk_id in kept else "over_top_n",
            **({"rank": kept.index(chunk_id) + 1} if chunk_id in kept else {}),
        }
        for number, chunk_id in enumerate(ids, start=1)
    ]
    return {
        "outcome": "ok" if kept else "empty",
        "policy_hash": "reranker-policy",
        "strategy": body["reranking_strategy"],
        "score_kind": kind,
        "initial_query": body["initial_query"],
        "reranked_docs": [
            {
                "id": chunk_id,
                "text": texts[chunk_id],
                "score": 0.9 if kind == "rerank" else entries[chunk_id]["scores"][kind],
                "rank": rank,
            }
            for rank, chunk_id in enumerate(kept, start=1)
        ],
        "ledger": ledger,
    } | changes


@dataclass
class FakeParts:
    """The neighbours of one gateway; each `answer` can be replaced."""

    policy: str = "degrade"
    floors: CosineFloors = field(default_factory=CosineFloors)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    embedding: FakeUpstream = field(default_factory=lambda: FakeUpstream(Stage.EMBEDDING, embedded))
    retriever: FakeUpstream = field(default_factory=lambda: FakeUpstream(Stage.RETRIEVER, retrieved))
    reranker: FakeUpstream = field(default_factory=lambda: FakeUpstream(Stage.RERANKER, reranked))

    def __post_init__(self) -> None:
        self.counter = Counter("degraded", "d", ("reason",), registry=self.registry)

    def degraded(self, reason: str) -> float:
        return self.registry.get_sample_value("degraded_total", {"reason": reason}) or 0.0

    @property
    def parts(self) -> Parts:
        policy: Any = self.policy
        gateway = {"gateway": "policy"}
        return Parts(self.embedding, self.retriever, self.reranker, gateway, policy, self.counter, self.floors)
