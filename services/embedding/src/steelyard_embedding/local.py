"""The backend of the embedded default: an ONNX model in this process."""

from collections.abc import Sequence
from pathlib import Path

from steelyard_models.catalogue import load_catalogue
from steelyard_models.encoder import OnnxTextEncoder
from steelyard_models.fetch import locate

from .backend import Vectors


class LocalBackend:
    """A verified model of the catalogue. Raises steelyard_models' errors when its files are absent or damaged."""

    def __init__(self, model_id: str, model_dir: Path | None, threads: int) -> None:
        model = load_catalogue().model(model_id)
        self._encoder = OnnxTextEncoder(locate(model_id, model_dir), threads=threads, max_tokens=model.max_tokens)
        self.model_id = model.name
        self.revision = model.revision
        self.dimension = self._encoder.dimension
        self.max_tokens = model.max_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens included."""
        return self._encoder.tokenizer.count_many(texts, special=True)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, float32 [len(texts), dimension]."""
        return self._encoder.embed(texts)
