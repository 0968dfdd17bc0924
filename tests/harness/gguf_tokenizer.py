"""The tokenizer and chat template in a GGUF file of the Qwen2 family, as the files that Transformers reads.

The embedded model comes without a `tokenizer.json`; this makes the one that its makers publish, so that counts by it
can be held against the server's own.
"""

import json
import struct
from pathlib import Path
from typing import Any, BinaryIO

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_CONTROL, _USER_DEFINED = 3, 4
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def write(gguf: Path, folder: Path, *, template: bool = True) -> Path:
    """Write `tokenizer.json` and, with `template`, `tokenizer_config.json` into `folder`; returns the folder."""
    with gguf.open("rb") as file:
        found = _metadata(file)
    assert found["tokenizer.ggml.pre"] == "qwen2"
    vocabulary = {token: number for number, token in enumerate(found["tokenizer.ggml.tokens"])}
    merges = [tuple(pair.split(" ")) for pair in found["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_QWEN2), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = zip(found["tokenizer.ggml.tokens"], found["tokenizer.ggml.token_type"], strict=True)
    tokenizer.add_special_tokens(
        [AddedToken(token, normalized=False) for token, kind in kinds if kind in (_CONTROL, _USER_DEFINED)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    if template:
        config = {"chat_template": found["tokenizer.chat_template"], "eos_token": "<|im_end|>"}
        (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def _metadata(file: BinaryIO) -> dict[str, Any]:
    magic, version, _, count = struct.unpack("<4sIQQ", file.read(24))
    assert (magic, version) == (b"GGUF", 3)
    found = {}
    for _ in range(count):
        key = _text(file)
        found[key] = _value(file, _number(file, "I"))
    return found


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _TEXT:
        return _text(file)
    if kind == _LIST:
        inner, length = _number(file, "I"), _number(file, "Q")
        return [_value(file, inner) for _ in range(length)]
    return _number(file, _NUMBERS[kind])


def _text(file: BinaryIO) -> str:
    return file.read(_number(file, "Q")).decode("utf-8", "replace")


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))[0]
