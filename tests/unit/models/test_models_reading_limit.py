from pathlib import Path

import pytest

from steelyard_models.errors import EncoderError
from steelyard_models.reading_limit import files_limit

UNLIMITED = '{"model_max_length": 1e30}'


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, None),
        ({"tokenizer_config.json": '{"model_max_length": 512}'}, 512),
        ({"tokenizer_config.json": UNLIMITED}, None),
        ({"tokenizer_config.json": UNLIMITED, "config.json": '{"max_position_embeddings": 512}'}, 512),
        ({"config.json": '{"max_position_embeddings": 514, "model_type": "xlm-roberta"}'}, 512),
        ({"config.json": '{"max_position_embeddings": 512, "model_type": "bert"}'}, 512),
        ({"tokenizer_config.json": '{"model_max_length": 99}', "config.json": '{"max_position_embeddings": 512}'}, 99),
    ],
)
def test_the_limit_is_read_from_the_models_own_files(files: dict[str, str], limit: int | None, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert files_limit(tmp_path) == limit


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_a_file_of_the_model_that_can_not_be_read_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(EncoderError, match=r"config\.json"):
        files_limit(tmp_path)
