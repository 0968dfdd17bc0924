"""An encoder that reads each text once, for a reranker that is asked about the same texts again and again."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from steelyard_models.encoder import GoOn, OnnxTextEncoder, Vectors, always

_BATCH = 128


class RememberingEncoder(OnnxTextEncoder):
    """Token vectors of texts that were read before come from memory; all others from the model."""

    def __init__(self, folder: Path, *, threads: int = 1, max_tokens: int = 512) -> None:
        super().__init__(folder, threads=threads, max_tokens=max_tokens)
        self._tokens: dict[str, Vectors] = {}
        self._pooled: dict[str, Vectors] = {}

    def read(self, texts: Sequence[str], on_texts: Callable[[int], None]) -> Vectors:
        """Remember the texts' vectors and return their sentence vectors, float32 [len(texts), dimension].

        `on_texts` hears how many texts each batch had.
        """
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            unread = [text for text in dict.fromkeys(batch) if text not in self._pooled]
            if unread:
                vectors, tokens = self.embed_with_tokens(unread)
                self._pooled.update(zip(unread, vectors, strict=True))
                self._tokens.update(zip(unread, tokens, strict=True))
            on_texts(len(batch))
        return np.stack([self._pooled[text] for text in texts])

    def forget_tokens(self, texts: Sequence[str]) -> None:
        """Free the memory of texts that are rarely asked about any more."""
        for text in texts:
            self._tokens.pop(text, None)

    def token_vectors(self, texts: Sequence[str], *, go_on: GoOn = always) -> list[Vectors]:
        """See OnnxTextEncoder."""
        unread = [text for text in texts if text not in self._tokens]
        new = dict(zip(unread, super().token_vectors(unread, go_on=go_on), strict=True)) if unread else {}
        return [new[text] if text in new else self._tokens[text] for text in texts]
