"""Candidates of every question with the local reranker's scores, computed once and kept in a cache."""

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from steelyard_models.encoder import Vectors
from steelyard_models.local_reranker import LateInteractionReranker

from ..cache_folder import default_cache
from ..embedded_default import embedded_encoder
from ..evaluation.collection import Collection, Passage
from ..evaluation.datasets import load
from ..tell import Tell
from .conditions import NOISE, Condition, with_near_copies
from .remembering import RememberingEncoder

CANDIDATES = 50
"""Candidates of a question: its nearest passages by cosine, in the noisy condition fewer by the noise."""

_FORMAT = "1"


@dataclass(frozen=True, eq=False)
class Scored:
    """A collection under one condition. Row i of `candidates` and `scores` belongs to question i.

    Attributes:
        candidates: int64[questions, n], positions in `passages`, nearest by cosine first.
        scores: float64[questions, n], rerank scores in (0, 1).
        vectors: float32[passages, d], unit sentence vectors; `query_vectors` those of the questions.
        tokens: int64[passages], in the model's own tokenizer.
    """

    collection: Collection
    condition: Condition
    passages: Sequence[Passage] = field(repr=False)
    candidates: npt.NDArray[np.int64] = field(repr=False)
    scores: npt.NDArray[np.float64] = field(repr=False)
    vectors: Vectors = field(repr=False)
    query_vectors: Vectors = field(repr=False)
    tokens: npt.NDArray[np.int64] = field(repr=False)


def score_all(data: Path, cache: Path | None, tell: Tell) -> list[Scored]:
    """Score every data set in `data` under every condition, or take the scores from the cache.

    Raises DatasetError without the data, RunError without the model.
    """
    model, encoder = embedded_encoder(RememberingEncoder)
    collections = load(data, encoder.tokenizer.count)
    return Scorer(encoder, model.revision, default_cache() if cache is None else cache).score(collections, tell)


class Scorer:
    """Scores collections with one model, under all conditions."""

    def __init__(self, encoder: RememberingEncoder, revision: str, cache: Path) -> None:
        self._encoder = encoder
        self._reranker = LateInteractionReranker(encoder)
        self._identity = [_FORMAT, revision, self._reranker.calibration.digest(), str(CANDIDATES)]
        self._cache = cache

    def score(self, collections: Sequence[Collection], tell: Tell) -> list[Scored]:
        """Return every collection under every condition, from the cache where it was scored before."""
        found: dict[tuple[str, Condition], Scored] = {}
        noise = {
            one.name: [p for other in collections if other is not one for p in other.passages] for one in collections
        }
        pools = {
            (one.name, condition): pool_of(one, condition, noise[one.name])
            for one in collections
            for condition in Condition
        }
        for one in collections:
            for condition in Condition:
                pool = pools[one.name, condition]
                cached = self._load(one, condition, pool)
                if cached is None:
                    cached = self._compute(one, condition, pool, tell)
                    self._save(cached)
                found[one.name, condition] = cached
            copies = pools[one.name, Condition.REDUNDANT][len(one.passages) :]
            self._encoder.forget_tokens([passage.text for passage in copies])
        return [found[one.name, condition] for one in collections for condition in Condition]

    def _compute(self, collection: Collection, condition: Condition, pool: Sequence[Passage], tell: Tell) -> Scored:
        title, done = f"{collection.name}, {condition}: reading", 0

        def count(texts: int) -> None:
            nonlocal done
            done += texts
            tell(title, done, len(pool))

        vectors = self._encoder.read([passage.text for passage in pool], count)
        queries = [question.text for question in collection.questions]
        query_vectors = self._encoder.read(queries, lambda _: None)
        rows = np.stack([nearest(vectors, query, len(collection.passages), condition, pool) for query in query_vectors])
        scores = np.zeros(rows.shape, dtype=np.float64)
        for number, query in enumerate(queries):
            scores[number] = self._reranker.scores(query, [pool[row].text for row in rows[number]])
            tell(f"{collection.name}, {condition}: scoring", number + 1, len(queries))
        tokens = np.array(self._encoder.tokenizer.count_many([passage.text for passage in pool]), dtype=np.int64)
        return Scored(collection, condition, pool, rows, scores, vectors, query_vectors, tokens)

    def _path(self, collection: Collection, condition: Condition, pool: Sequence[Passage]) -> Path:
        content = [*self._identity, condition, [p.text for p in pool], [q.text for q in collection.questions]]
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return self._cache / f"{collection.name}-{condition}-{digest[:16]}.npz"

    def _load(self, collection: Collection, condition: Condition, pool: Sequence[Passage]) -> Scored | None:
        path = self._path(collection, condition, pool)
        if not path.is_file():
            return None
        with np.load(path) as kept:
            return Scored(
                collection,
                condition,
                pool,
                kept["candidates"],
                kept["scores"],
                kept["vectors"],
                kept["query_vectors"],
                kept["tokens"],
            )

    def _save(self, scored: Scored) -> None:
        self._cache.mkdir(parents=True, exist_ok=True)
        path = self._path(scored.collection, scored.condition, scored.passages)
        with tempfile.NamedTemporaryFile(dir=self._cache, suffix=".part", delete=False) as stream:
            np.savez(
                stream,
                candidates=scored.candidates,
                scores=scored.scores,
                vectors=scored.vectors,
                query_vectors=scored.query_vectors,
                tokens=scored.tokens,
            )
        Path(stream.name).replace(path)


def pool_of(collection: Collection, condition: Condition, noise: Sequence[Passage]) -> Sequence[Passage]:
    """The passages that are searched: with their near-copies, or followed by the other data sets' passages."""
    match condition:
        case Condition.CLEAN:
            return collection.passages
        case Condition.REDUNDANT:
            return with_near_copies(collection.passages)
        case Condition.NOISY:
            return [*collection.passages, *noise]


def nearest(
    vectors: Vectors, query: Vectors, own: int, condition: Condition, pool: Sequence[Passage]
) -> npt.NDArray[np.int64]:
    """Positions of a question's candidates, nearest first; ties keep the pool's order.

    In the noisy condition the last places go to the passages of other data sets, whether or not they are nearer.
    """
    cosines = vectors @ query
    if condition is not Condition.NOISY:
        return np.argsort(-cosines, kind="stable")[: min(CANDIDATES, len(pool))]
    ours = np.argsort(-cosines[:own], kind="stable")[: CANDIDATES - NOISE]
    theirs = own + np.argsort(-cosines[own:], kind="stable")[:NOISE]
    rows = np.concatenate([ours, theirs])
    return rows[np.argsort(-cosines[rows], kind="stable")]
