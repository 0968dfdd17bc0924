"""A cross-encoder small enough to build in a test: a real model.onnx with random weights and one logit a pair.

`logits[b] = sum over t of attention_mask[b, t] * table[input_ids[b, t]]`: padding that is masked changes nothing, and
padding that is not masked would.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from .tiny_encoder import FLOAT, INT64, WORDS, chunk, number, value_info, write_tokenizer


def weights(seed: int = 11) -> npt.NDArray[np.float32]:
    """One weight per word of the vocabulary, [vocabulary, 1]."""
    return np.random.default_rng(seed).normal(size=(len(WORDS), 1)).astype(np.float32)


def _node(kind: str, inputs: list[str], output: str, *attributes: bytes) -> bytes:
    node = b"".join(chunk(1, name) for name in inputs) + chunk(2, output) + chunk(4, kind)
    return chunk(1, node + b"".join(chunk(5, attribute) for attribute in attributes))


def _int_attribute(name: str, value: int) -> bytes:
    return chunk(1, name) + number(3, value) + number(20, 2)  # name=1, i=3, type=20 (INT)


def _tensor(name: str, kind: int, dims: tuple[int, ...], data: bytes) -> bytes:
    return chunk(5, b"".join(number(1, size) for size in dims) + number(2, kind) + chunk(8, name) + chunk(9, data))


def onnx_pair_sum(table: npt.NDArray[np.float32], labels: int = 1) -> bytes:
    """A ModelProto of Gather, Cast, Unsqueeze, Mul and ReduceSum; `labels` copies of the logit in the output."""
    wide = np.repeat(table, labels, axis=1)
    graph = _node("Gather", ["table", "input_ids"], "looked_up")  # [batch, tokens, labels]
    graph += _node("Cast", ["attention_mask"], "mask", _int_attribute("to", FLOAT))
    graph += _node("Unsqueeze", ["mask", "last"], "column")
    graph += _node("Mul", ["looked_up", "column"], "masked")
    graph += _node("ReduceSum", ["masked", "tokens"], "logits", _int_attribute("keepdims", 0))
    graph += chunk(2, "cross_encoder")
    graph += _tensor("table", FLOAT, wide.shape, wide.astype("<f4").tobytes())
    graph += _tensor("last", INT64, (1,), np.array([2], dtype="<i8").tobytes())
    graph += _tensor("tokens", INT64, (1,), np.array([1], dtype="<i8").tobytes())
    for name in ("input_ids", "attention_mask"):
        graph += chunk(11, value_info(name, INT64, ["batch", "tokens"]))
    graph += chunk(12, value_info("logits", FLOAT, ["batch", labels]))
    return number(1, 8) + chunk(7, graph) + chunk(8, number(2, 17))  # ir_version=1, graph=7, opset_import=8


def write_cross_encoder(folder: Path, labels: int = 1) -> Path:
    """model.onnx and tokenizer.json in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder)
    (folder / "model.onnx").write_bytes(onnx_pair_sum(weights(), labels))
    return folder
