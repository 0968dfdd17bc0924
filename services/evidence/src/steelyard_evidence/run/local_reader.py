"""The embedded default's reranker as a reader: the service's own planning, model and judgement, in this process."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from steelyard_contracts.errors import SteelyardError
from steelyard_models.catalogue import load_catalogue
from steelyard_models.encoder import OnnxTextEncoder, plan_batches
from steelyard_models.errors import ModelError
from steelyard_models.fetch import locate
from steelyard_models.local_reranker import LateInteractionReranker
from steelyard_reranker.backends.port import RowFault
from steelyard_reranker.pairs import (
    LateInteractionFormat,
    PairPlanner,
    PairSettingError,
    PairSettings,
    Passage,
    Plan,
    judgement,
)

from ..errors import RunError, UnsupportedLengthError
from ..manifest import FrozenCandidate, ModelIdentity
from .reading import Reading, Readings

DEFAULT_MODEL = "all-minilm-l6-v2"


class LocalReader:
    """Late interaction with one of the catalogue's encoders. Raises RunError when its files are absent or damaged."""

    def __init__(self, model_id: str = DEFAULT_MODEL, model_dir: Path | None = None, *, threads: int = 1) -> None:
        started = time.perf_counter()
        try:
            model = load_catalogue().model(model_id)
            self.encoder = OnnxTextEncoder(locate(model_id, model_dir), threads=threads, max_tokens=model.max_tokens)
        except ModelError as error:
            raise RunError(str(error)) from error
        self.load_seconds = time.perf_counter() - started
        self._model = LateInteractionReranker(self.encoder)
        self.pair_format = LateInteractionFormat(self.encoder.tokenizer, self.encoder.max_tokens)
        scale = f"{model.revision} {self._model.calibration.digest()}"
        self.identity = ModelIdentity(
            name=f"late-interaction:{model.name}", sha256=hashlib.sha256(scale.encode()).hexdigest()
        )

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
            scores = iter(self._model.scores(query, texts).tolist())
        except (ModelError, SteelyardError) as error:
            raise RunError(f"query {query!r}: {error}") from error
        readings = tuple(_reading(plan, scores, pairs) for plan in plans)
        seconds = time.perf_counter() - started
        real, padded = self._positions(texts)
        return Readings(readings, seconds, real, padded)

    def _positions(self, texts: Sequence[str]) -> tuple[int, int]:
        """Input positions of the texts' batches without and with padding, as the encoder makes them."""
        lengths = self.encoder.tokenizer.count_many(texts, special=True)
        padded = sum(len(batch) * max(lengths[row] for row in batch) for batch in plan_batches(lengths))
        return sum(lengths), padded


def _reading(plan: Plan | RowFault, scores: Iterator[float], pairs: PairSettings) -> Reading:
    if isinstance(plan, RowFault):
        return Reading(None, (), 0)
    verdict = judgement(plan, [next(scores) for _ in plan.pieces], pairs)
    if isinstance(verdict, RowFault):
        return Reading(None, (), 0)
    return Reading(verdict.score, tuple(verdict.pair.kept_spans or ()), len(plan.pieces))
