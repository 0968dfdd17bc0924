"""Sentence vectors on disk, a batch a file, so that a freeze that was killed goes on where it stopped."""

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steelyard_models.encoder import OnnxTextEncoder, Vectors, plan_batches

from ..errors import CacheError
from ..tell import Progress, silent


class VectorCache:
    """Vectors of one model's revision below `folder`.

    The unit is a batch and not a text, because a text's vector depends on its company in the last bits: the same
    collection has the same vectors, and so its manifest the same hash, however often its reading was interrupted.
    """

    def __init__(self, folder: Path, revision: str) -> None:
        self._folder = folder / "vectors" / revision[:16]

    def embed(self, encoder: OnnxTextEncoder, texts: Sequence[str], on_texts: Progress = silent) -> Vectors:
        """Return float32[len(texts), dimension] in the texts' order; each batch is on disk before the next is begun.

        Texts are batched by length over the whole collection, which pads less than slices of it do. Raises CacheError
        for a file that is damaged, and what the encoder raises.
        """
        vectors = np.zeros((len(texts), encoder.dimension), dtype=np.float32)
        done = 0
        for rows in plan_batches(encoder.tokenizer.count_many(texts, special=True)):
            vectors[rows] = self._batch(encoder, [texts[row] for row in rows])
            done += len(rows)
            on_texts(done, len(texts))
        return vectors

    def _batch(self, encoder: OnnxTextEncoder, texts: Sequence[str]) -> Vectors:
        digest = hashlib.sha256()
        for text in texts:
            digest.update(hashlib.sha256(text.encode()).digest())
        path = self._folder / f"{digest.hexdigest()[:32]}.npy"
        if path.is_file():
            return _read(path, (len(texts), encoder.dimension))
        vectors = encoder.embed(texts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as stream:
            np.save(stream, vectors)
        Path(stream.name).replace(path)
        return vectors


def _read(path: Path, shape: tuple[int, int]) -> Vectors:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise CacheError(f"{path}: can not be read, remove it: {error}") from error
    if found.shape != shape or found.dtype != np.float32 or not np.isfinite(found).all():
        raise CacheError(f"{path}: holds no {shape[0]} vectors of {shape[1]} numbers, remove it")
    vectors: Vectors = found
    return vectors
