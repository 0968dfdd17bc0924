"""An ONNX model of a BERT-like encoder, opened for one CPU and asked with whichever inputs it declares."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .errors import EncoderError
from .silent_onnxruntime import ort

_NUMPY_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_USABLE = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class OnnxSession:
    """One model. Safe to share between threads. `output_shape` is as the file declares it, names and None included."""

    def __init__(self, path: Path, threads: int) -> None:
        """Open `path` with `threads` intra-op threads a call. Raises `EncoderError` for a file that is of no use."""
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # A spinning thread steals the core from the other services: under load 6 against 33 tokens/s of the LLM.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            self._session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has no common base class for its errors
            raise EncoderError(f"{path}: {error}") from error
        self._inputs = {entry.name: _NUMPY_TYPES.get(entry.type) for entry in self._session.get_inputs()}
        unusable = sorted(set(self._inputs) - _USABLE)
        if unusable or None in self._inputs.values():
            raise EncoderError(f"{path}: unusable inputs {unusable or self._inputs}")
        output = self._session.get_outputs()[0]
        self.output: str = output.name
        self.output_shape: list[int | str | None] = output.shape

    def run(self, arrays: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.float32]:
        """Return the first output for arrays [batch, tokens], of which the model gets those that it declares.

        Raises `EncoderError`.
        """
        fed = {name: arrays[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            result: npt.NDArray[np.float32] = self._session.run([self.output], fed)[0]
        except Exception as error:  # onnxruntime has no common base class for its errors
            batch, tokens = arrays["input_ids"].shape
            raise EncoderError(f"the model failed on {batch} texts of up to {tokens} tokens: {error}") from error
        return result
