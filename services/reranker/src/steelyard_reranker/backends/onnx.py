"""A cross-encoder of the operator's own, read from a folder with `model.onnx` and `tokenizer.json`."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from steelyard_models.cross_encoder import OnnxCrossEncoder
from steelyard_models.encoder import GoOn
from steelyard_runtime.blocking import Workers

from ..pairs.format import CrossEncoderFormat
from .in_process import InProcessBackend
from .scale import Scale

_DIGITS = 16


class OnnxBackend(InProcessBackend):
    """Scores with the folder's model. Raises steelyard_models' errors when the folder is of no use.

    `scale` says what the model's output is; an exported cross-encoder returns logits. The revision is the beginning of
    the weights' SHA-256, which a name could not vouch for.
    """

    def __init__(self, folder: Path, threads: int, scale: Scale, *, scoring: Workers, probing: Workers) -> None:
        super().__init__(scoring=scoring, probing=probing)
        self._model = OnnxCrossEncoder(folder, threads=threads)
        self.model_id = f"onnx:{folder.name}"
        with (folder / "model.onnx").open("rb") as weights:
            self.revision = f"sha256:{hashlib.file_digest(weights, 'sha256').hexdigest()[:_DIGITS]}"
        self.format = CrossEncoderFormat(self._model.tokenizer, self._model.max_tokens)
        self._scale = scale

    @property
    def policy(self) -> dict[str, object]:
        """See RerankBackend."""
        return {
            "reranker": self.model_id,
            "revision": self.revision,
            "tokenizer": self._model.tokenizer.sha256,
            "scale": self._scale,
        }

    def _scores(self, query: str, texts: Sequence[str], go_on: GoOn) -> list[float]:
        return [self._scale.rerank_score(float(raw)) for raw in self._model.logits(query, texts, go_on=go_on)]
