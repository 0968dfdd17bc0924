"""The backend of the embedded default: late interaction (MaxSim over token vectors) with the embedding model's files.

It is training-free, and no cross-encoder: query and text are read apart, so a pair is the two readings together.
"""

from collections.abc import Sequence
from pathlib import Path

from steelyard_models.cache import locate
from steelyard_models.catalogue import Model
from steelyard_models.encoder import GoOn, OnnxTextEncoder
from steelyard_models.local_reranker import LateInteractionReranker
from steelyard_runtime.blocking import Workers

from ..pairs.format import LateInteractionFormat
from .in_process import InProcessBackend


class LocalBackend(InProcessBackend):
    """Scores by MaxSim. Raises steelyard_models' errors when the model's files are absent or damaged."""

    def __init__(
        self, model: Model, model_dir: Path | None, threads: int, *, scoring: Workers, probing: Workers
    ) -> None:
        super().__init__(scoring=scoring, probing=probing)
        encoder = OnnxTextEncoder(locate(model.name, model_dir), threads=threads, max_tokens=model.max_tokens)
        self.model_id = f"late-interaction:{model.name}"
        self.revision = model.revision
        self.format = LateInteractionFormat(encoder.tokenizer, encoder.max_tokens)
        self._model = LateInteractionReranker(encoder)

    @property
    def policy(self) -> dict[str, object]:
        """See RerankBackend."""
        return {
            "reranker": self.model_id,
            "revision": self.revision,
            "calibration": self._model.calibration.digest(),
        }

    def _scores(self, query: str, texts: Sequence[str], go_on: GoOn) -> list[float]:
        return [float(score) for score in self._model.scores(query, texts, go_on=go_on)]
