"""Sentence and token vectors of a BERT-like ONNX model, on the CPU, in fp32.

A text longer than the model's position table is refused, never cut. Texts are sorted by length and packed into batches
of bounded size and padding, so that short texts do not pay for long ones; order is restored.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .errors import EncoderError, GivenUpError, TextTooLongError
from .onnx_session import OnnxSession
from .tokenizer import TextTokenizer

Vectors = npt.NDArray[np.float32]
GoOn = Callable[[], bool]
"""Asked before each batch: once it says no, the rest is not worth its time and the call raises `GivenUpError`."""

TOKENS_PER_BATCH = 4096
FREE_PADDING = 256


def always() -> bool:
    """Go on to the end."""
    return True


class OnnxTextEncoder:
    """`model.onnx` and `tokenizer.json` of one folder. Safe to share between threads."""

    def __init__(self, folder: Path, *, threads: int = 1, max_tokens: int = 512) -> None:
        """Load the model.

        `threads` is the number of intra-op threads of one call; `max_tokens` counts special tokens and must not exceed
        the model's position table. Raises `TokenizerError` or `EncoderError`.
        """
        self.tokenizer = TextTokenizer(folder)
        self.max_tokens = max_tokens
        path = folder / "model.onnx"
        self._session = OnnxSession(path, threads)
        shape = self._session.output_shape
        if len(shape) != 3 or not isinstance(shape[2], int):
            raise EncoderError(
                f"{path}: output {self._session.output!r} has shape {shape}, expected [batch, tokens, width]"
            )
        self.dimension: int = shape[2]
        self._unknown = self.tokenizer.token_id("[UNK]")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, float32 [len(texts), dimension]: the mean over all tokens of the attention mask.

        The mean includes [CLS] and [SEP], as in the model's training. A text's vector differs between alone and in a
        batch by at most 1e-5 per component (padding changes the order of sums). An empty text has a vector too (that of
        [CLS][SEP]); callers that give it no meaning leave it out. Raises `TextTooLongError`, or `EncoderError` if the
        model returns a non-finite or zero vector.
        """
        pooled = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for batch in self._hidden(texts):
            pooled[batch.rows] = batch.means()
        return _unit(pooled, "text")

    def token_vectors(self, texts: Sequence[str], *, go_on: GoOn = always) -> list[Vectors]:
        """Return one float32 [tokens, dimension] array per text, rows of unit length, for late interaction.

        Rows follow the text's tokens without [CLS] and [SEP]. An unknown token ([UNK]: a word outside the vocabulary)
        has a zero row, because its vector says where it stands and not what it is. Raises as `embed` does, and
        `GivenUpError`.
        """
        result: list[Vectors] = [np.zeros((0, self.dimension), dtype=np.float32)] * len(texts)
        for batch in self._hidden(texts, go_on):
            for i, row in enumerate(batch.rows):
                result[row] = self._token_rows(batch, i)
        return result

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Vectors]]:
        """Return what `embed` and `token_vectors` return, for the price of one pass through the model."""
        pooled = np.zeros((len(texts), self.dimension), dtype=np.float32)
        tokens: list[Vectors] = [np.zeros((0, self.dimension), dtype=np.float32)] * len(texts)
        for batch in self._hidden(texts):
            pooled[batch.rows] = batch.means()
            for i, row in enumerate(batch.rows):
                tokens[row] = self._token_rows(batch, i)
        return _unit(pooled, "text"), tokens

    def _token_rows(self, batch: "_Batch", i: int) -> Vectors:
        own = batch.own[i]
        vectors = _unit(batch.hidden[i][own], f"text {batch.rows[i]}, token")
        if self._unknown is not None:
            vectors[batch.ids[i][own] == self._unknown] = 0.0
        return vectors

    def _hidden(self, texts: Sequence[str], go_on: GoOn = always) -> Iterator["_Batch"]:
        encoded = self.tokenizer.encode_inputs(texts)
        lengths = [len(ids) for ids, _ in encoded]
        for index, length in enumerate(lengths):
            if length > self.max_tokens:
                raise TextTooLongError(index, length, self.max_tokens)
        for rows in plan_batches(lengths):
            if not go_on():
                raise GivenUpError
            shape = (len(rows), max(lengths[row] for row in rows))
            ids, mask, own = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
            for i, row in enumerate(rows):
                ids[i, : lengths[row]], template = encoded[row][0], encoded[row][1]
                mask[i, : lengths[row]] = 1
                own[i, : lengths[row]] = ~np.array(template)
            hidden = self._session.run({"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
            yield _Batch(rows, ids, mask, own, hidden)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Positions in the input, then arrays [batch, tokens]; `own` marks tokens of the text itself."""

    rows: list[int]
    ids: npt.NDArray[np.int64]
    mask: npt.NDArray[np.int64]
    own: npt.NDArray[np.bool_]
    hidden: Vectors

    def means(self) -> Vectors:
        weights = self.mask[:, :, None].astype(np.float32)
        means: Vectors = (self.hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return means


def _unit(vectors: Vectors, what: str) -> Vectors:
    norms: Vectors = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    usable = np.isfinite(norms[:, 0]) & (norms[:, 0] > 0)
    if not usable.all():
        raise EncoderError(f"{what} {int(np.flatnonzero(~usable)[0])}: the model returned no direction")
    return vectors / norms


def plan_batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield positions of texts, shortest first, in batches that are padded to their longest text.

    A batch has at most `TOKENS_PER_BATCH` tokens with padding, of which padding is at most a quarter (or
    `FREE_PADDING`, below which one more call of the model costs more than the padding).
    """
    batch: list[int] = []
    real = 0
    for row in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        padded = (len(batch) + 1) * lengths[row]
        wasted = padded - real - lengths[row]
        if batch and (padded > TOKENS_PER_BATCH or wasted > max(FREE_PADDING, padded / 4)):
            yield batch
            batch, real = [], 0
        batch.append(row)
        real += lengths[row]
    if batch:
        yield batch
