"""A cross-encoder in ONNX, on the CPU: query and document in one input, one logit out.

Pairs are sorted by length and packed into batches of bounded size and padding (`encoder.plan_batches`); order is
restored. A pair that is longer than the model reads is refused, never cut.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .encoder import GoOn, always, plan_batches
from .errors import EncoderError, GivenUpError, TextTooLongError
from .onnx_session import OnnxSession
from .reading_limit import files_limit
from .tokenizer import TextTokenizer

Logits = npt.NDArray[np.float64]

_DEFAULT_LIMIT = 512


class OnnxCrossEncoder:
    """`model.onnx` and `tokenizer.json` of one folder. Safe to share between threads."""

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        """Load the model, which reads `files_limit(folder)` tokens of a pair, or 512.

        Raises `TokenizerError` or `EncoderError`.
        """
        self.tokenizer = TextTokenizer(folder)
        self.max_tokens = files_limit(folder) or _DEFAULT_LIMIT
        path = folder / "model.onnx"
        self._session = OnnxSession(path, threads)
        shape = self._session.output_shape
        if len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] != 1):
            raise EncoderError(
                f"{path}: output {self._session.output!r} has shape {shape}, expected one logit a pair: [batch, 1]"
            )

    def logits(self, query: str, documents: Sequence[str], *, go_on: GoOn = always) -> Logits:
        """Return one raw score a document, float64 [len(documents)].

        Raises `TextTooLongError` with the document's position, `GivenUpError`, and `EncoderError`. What the model
        returns is not judged: a logit that is not finite is returned as it is.
        """
        encoded = self.tokenizer.encode_pair_inputs(query, documents)
        lengths = [len(ids) for ids, _ in encoded]
        for index, length in enumerate(lengths):
            if length > self.max_tokens:
                raise TextTooLongError(index, length, self.max_tokens)
        logits = np.zeros(len(documents), dtype=np.float64)
        for rows in plan_batches(lengths):
            if not go_on():
                raise GivenUpError
            shape = (len(rows), max(lengths[row] for row in rows))
            ids, mask, types = (np.zeros(shape, np.int64) for _ in range(3))
            for i, row in enumerate(rows):
                ids[i, : lengths[row]], types[i, : lengths[row]] = encoded[row]
                mask[i, : lengths[row]] = 1
            out = self._session.run({"input_ids": ids, "attention_mask": mask, "token_type_ids": types})
            if out.size != len(rows):
                raise EncoderError(f"the model returned {out.size} logits for {len(rows)} pairs")
            logits[rows] = out.reshape(-1)
        return logits
