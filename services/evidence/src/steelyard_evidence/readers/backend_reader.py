"""A reranker's backend as a reader: the service's own planning, backend and judgement, without the service."""

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from steelyard_contracts.errors import SteelyardError
from steelyard_models.encoder import plan_batches
from steelyard_reranker.backends.port import RerankBackend, RerankBackendError
from steelyard_reranker.pairs import (
    LateInteractionFormat,
    PairFormat,
    PairPlanner,
    PairSettingError,
    PairSettings,
    Passage,
    Plan,
    judgement,
)
from steelyard_reranker.row_fault import RowFault
from steelyard_runtime import context

from ..errors import RunError, UnsupportedLengthError
from ..manifest import FrozenCandidate, ModelIdentity
from ..run.reading import Positions, Reading, Readings

_PATIENCE_S = 600.0
"""What one query may take: nobody waits for a laboratory, and a busy machine is no fault of the model."""


class BackendReader:
    """Reads with one opened backend.

    `tokenizer` is the file that pairs are measured with, `in_process` says that the model's batches are made here.
    """

    def __init__(
        self,
        backend: RerankBackend,
        pair_format: PairFormat,
        tokenizer: Path,
        runner: asyncio.Runner,
        *,
        in_process: bool,
        load_seconds: float,
    ) -> None:
        self.pair_format = pair_format
        self.tokenizer = tokenizer
        self.load_seconds = load_seconds
        self.identity = identity_of(backend)
        self._backend = backend
        self._runner = runner
        self._in_process = in_process

    @property
    def longest_pair(self) -> int:
        """Tokens of the longest pair that the model reads."""
        return self.pair_format.limit

    def read(self, query: str, candidates: Sequence[FrozenCandidate], pairs: PairSettings) -> Readings:
        """See Reader."""
        try:
            planner = PairPlanner(self.pair_format, pairs)
        except PairSettingError as error:
            raise UnsupportedLengthError(str(error)) from error
        started = time.perf_counter()
        try:
            plans = planner.plans(query, [Passage(one.id, one.text) for one in candidates])
            texts = [text for plan in plans if isinstance(plan, Plan) for text in plan.texts]
            scores = iter(self._runner.run(self._scores(query, texts)))
        except (RerankBackendError, SteelyardError) as error:
            raise RunError(f"query {query!r}: {error}") from error
        readings = tuple(_reading(plan, scores, pairs) for plan in plans)
        seconds = time.perf_counter() - started
        return Readings(readings, seconds, self._positions(query, texts) if self._in_process else None)

    async def _scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        deadline = asyncio.get_running_loop().time() + _PATIENCE_S
        context.bind(context.RequestContext("laboratory", deadline))
        return await self._backend.scores(query, texts)

    def _positions(self, query: str, texts: Sequence[str]) -> Positions:
        """Input positions of the texts' batches, as the encoders make them."""
        own = [self.pair_format.text_tokens(text) for text in texts]
        # Late interaction reads the query apart, once.
        beside = 0 if isinstance(self.pair_format, LateInteractionFormat) else self.pair_format.query_tokens(query)
        lengths = [self.pair_format.pair_tokens(beside, tokens) for tokens in own]
        padded = sum(len(batch) * max(lengths[row] for row in batch) for batch in plan_batches(lengths))
        return Positions(sum(lengths), padded)


def identity_of(backend: RerankBackend) -> ModelIdentity:
    """The backend's name, and the hash of what decides its scores: model, revision, scale."""
    policy = json.dumps(backend.policy, sort_keys=True, default=str)
    return ModelIdentity(name=backend.model_id, sha256=hashlib.sha256(policy.encode()).hexdigest())


def _reading(plan: Plan | RowFault, scores: Iterator[float | RowFault], pairs: PairSettings) -> Reading:
    if isinstance(plan, RowFault):
        return Reading(None, (), 0)
    verdict = judgement(plan, [next(scores) for _ in plan.pieces], pairs)
    if isinstance(verdict, RowFault):
        return Reading(None, (), 0)
    return Reading(verdict.score, tuple(verdict.pair.kept_spans or ()), len(plan.pieces))
