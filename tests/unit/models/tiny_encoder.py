"""A BERT-like encoder small enough to build in a test: real tokenizer.json, real model.onnx, no ONNX package needed.

The graph looks every input id up in a table: `last_hidden_state[b, t] = table[input_ids[b, t]]`. Its file is written
field by field in protobuf's wire format; numbers after each name are field numbers of the ONNX schema.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "cat", "dog", "likes", "fish", "the", "sea", ".", "##s"]
INT64, FLOAT = 7, 1


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def chunk(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def value_info(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(chunk(1, number(1, dim) if isinstance(dim, int) else chunk(2, dim)) for dim in shape)
    tensor = number(1, kind) + chunk(2, dims)  # elem_type=1, shape=2
    return chunk(1, name) + chunk(2, chunk(1, tensor))  # name=1, type=2, tensor_type=1


def onnx_lookup(table: npt.NDArray[np.float32], inputs: Sequence[str] = ("input_ids", "attention_mask")) -> bytes:
    """A ModelProto with one Gather node over `table` [vocabulary, width]."""
    node = chunk(1, "table") + chunk(1, "input_ids") + chunk(2, "last_hidden_state") + chunk(4, "Gather")
    initializer = b"".join(number(1, size) for size in table.shape)
    initializer += number(2, FLOAT) + chunk(8, "table") + chunk(9, table.astype("<f4").tobytes())
    graph = chunk(1, node) + chunk(2, "lookup") + chunk(5, initializer)  # node=1, name=2, initializer=5
    for name in inputs:
        graph += chunk(11, value_info(name, INT64, ["batch", "tokens"]))
    graph += chunk(12, value_info("last_hidden_state", FLOAT, ["batch", "tokens", table.shape[1]]))
    return number(1, 8) + chunk(7, graph) + chunk(8, number(2, 17))  # ir_version=1, graph=7, opset_import=8


def table(width: int = 6) -> npt.NDArray[np.float32]:
    return np.random.default_rng(7).normal(size=(len(WORDS), width)).astype(np.float32)


def write_tokenizer(folder: Path) -> Path:
    """A WordPiece tokenizer.json with truncation and padding at 4 tokens baked in, as published files have them."""
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(WORDS[:4])
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=4)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


def write_encoder(folder: Path) -> Path:
    write_tokenizer(folder)
    (folder / "model.onnx").write_bytes(onnx_lookup(table()))
    return folder
