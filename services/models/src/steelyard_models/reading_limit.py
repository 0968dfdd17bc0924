"""How long a text a model reads, by the files that its publishers put beside its tokenizer."""

import json
from pathlib import Path
from typing import Any

from .errors import EncoderError

_NO_LIMIT = 1_000_000
"""Tokenizer files say 1e30 where they know none."""
_OFFSET_POSITIONS = frozenset({"roberta", "xlm-roberta", "camembert"})
"""Model types whose position table begins after the padding token's id, which is 1."""


def files_limit(folder: Path) -> int | None:
    """Return how many tokens the model of a folder reads, special ones included; None when no file says it.

    It is `model_max_length` of tokenizer_config.json, else the position table in config.json. The `truncation` in
    tokenizer.json is no limit of the model: MiniLM's is 128, and the model reads 512. Raises `EncoderError` for a file
    that is there and can not be read.
    """
    declared = _json(folder / "tokenizer_config.json").get("model_max_length")
    if isinstance(declared, int | float) and 1 < declared < _NO_LIMIT:
        return int(declared)
    config = _json(folder / "config.json")
    positions = config.get("max_position_embeddings")
    if type(positions) is int and positions > 1:
        return positions - 2 if config.get("model_type") in _OFFSET_POSITIONS else positions
    return None


def _json(path: Path) -> dict[str, Any]:
    """The object in a file that need not be there; raises `EncoderError` for one that is there and is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EncoderError(f"{path}: {error}") from error
    if not isinstance(value, dict):
        raise EncoderError(f"{path}: holds no JSON object")
    return value
