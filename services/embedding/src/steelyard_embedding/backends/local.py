"""The backend of the embedded default: an ONNX model in this process."""

from collections.abc import Sequence
from pathlib import Path

from steelyard_models.cache import locate
from steelyard_models.catalogue import load_catalogue
from steelyard_models.encoder import OnnxTextEncoder
from steelyard_runtime.blocking import Workers

from .port import Vectors


class LocalBackend:
    """A verified model of the catalogue. Raises steelyard_models' errors when its files are absent or damaged."""

    runs_at_once = 1
    probe_interval_s = 0.0

    def __init__(
        self, model_id: str, model_dir: Path | None, threads: int, *, embedding: Workers, probing: Workers
    ) -> None:
        model = load_catalogue().model(model_id)
        self._encoder = OnnxTextEncoder(locate(model_id, model_dir), threads=threads, max_tokens=model.max_tokens)
        self._embedding = embedding
        self._probing = probing
        self.model_id = model.name
        self.revision = model.revision
        self.dimension = self._encoder.dimension
        self.max_tokens = model.max_tokens
        self.tokenizer_sha256 = self._encoder.tokenizer.sha256

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """See EmbeddingBackend."""
        return self._encoder.tokenizer.count_many(texts, special=True)

    async def look(self) -> None:
        """See EmbeddingBackend; its files were verified when it was opened."""

    async def embed(self, texts: Sequence[str], *, deadline: float | None = None, probing: bool = False) -> Vectors:
        """See EmbeddingBackend. A run that has begun ends by itself."""
        del deadline
        return await (self._probing if probing else self._embedding).run(self._encoder.embed, texts)
