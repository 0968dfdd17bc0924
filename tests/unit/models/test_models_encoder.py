import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard_models
from steelyard_models.encoder import FREE_PADDING, TOKENS_PER_BATCH, OnnxTextEncoder, plan_batches
from steelyard_models.errors import EncoderError, TextTooLongError
from tests.unit.models.tiny_encoder import WORDS, onnx_lookup, table, write_encoder, write_tokenizer


@pytest.fixture
def encoder(tmp_path: Path) -> OnnxTextEncoder:
    return OnnxTextEncoder(write_encoder(tmp_path), max_tokens=10)


def test_vector_is_the_mean_over_all_tokens_of_unit_length(encoder: OnnxTextEncoder) -> None:
    rows = table()[[WORDS.index(word) for word in ("[CLS]", "a", "cat", "[SEP]")]]
    mean = rows.mean(axis=0)
    vectors = encoder.embed(["a cat"])
    assert vectors.shape == (1, encoder.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[0], mean / np.linalg.norm(mean), rtol=1e-6)


def test_order_is_restored_and_a_batch_changes_nothing(encoder: OnnxTextEncoder) -> None:
    texts = ["the sea", "a cat likes the sea .", "", "dog", "fish", "cats"]
    together = encoder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_array_equal(encoder.embed([text])[0], vector)


def test_no_text_gives_no_vector(encoder: OnnxTextEncoder) -> None:
    assert encoder.embed([]).shape == (0, encoder.dimension)
    assert encoder.token_vectors([]) == []


def test_token_vectors_leave_the_template_out_and_blank_unknown_words(encoder: OnnxTextEncoder) -> None:
    vectors, empty = encoder.token_vectors(["a zebra likes fish", ""])
    assert (vectors.shape, empty.shape) == ((4, encoder.dimension), (0, encoder.dimension))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 1], rtol=1e-6)
    likes = table()[WORDS.index("likes")]
    np.testing.assert_allclose(vectors[2], likes / np.linalg.norm(likes), rtol=1e-6)


def test_one_pass_gives_both_kinds_of_vector(encoder: OnnxTextEncoder) -> None:
    texts = ["the sea", "a cat likes the sea .", "", "zebra"]
    pooled, tokens = encoder.embed_with_tokens(texts)
    np.testing.assert_array_equal(pooled, encoder.embed(texts))
    for together, alone in zip(tokens, encoder.token_vectors(texts), strict=True):
        np.testing.assert_array_equal(together, alone)


def test_long_text_is_refused_by_position_and_never_cut(encoder: OnnxTextEncoder) -> None:
    assert encoder.embed(["a " * 8]).shape == (1, encoder.dimension)
    for call in (encoder.embed, encoder.token_vectors):
        with pytest.raises(TextTooLongError, match="text 1 has 11 tokens") as caught:
            call(["a", "a " * 9])
        assert (caught.value.index, caught.value.tokens, caught.value.limit) == (1, 11, 10)


def test_vector_without_direction_is_an_error(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    broken = table()
    broken[WORDS.index("dog")] = np.nan
    (tmp_path / "model.onnx").write_bytes(onnx_lookup(broken))
    encoder = OnnxTextEncoder(tmp_path)
    with pytest.raises(EncoderError, match="text 1: the model returned no direction"):
        encoder.embed(["a cat", "a dog"])
    with pytest.raises(EncoderError, match="text 1, token 1: the model returned no direction"):
        encoder.token_vectors(["a cat", "a dog"])


def test_unusable_model_files_are_named(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    with pytest.raises(EncoderError, match=r"model\.onnx"):
        OnnxTextEncoder(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(EncoderError, match=r"model\.onnx"):
        OnnxTextEncoder(tmp_path)
    (tmp_path / "model.onnx").write_bytes(onnx_lookup(table(), ["input_ids", "pixel_values"]))
    with pytest.raises(EncoderError, match=r"unusable inputs \['pixel_values'\]"):
        OnnxTextEncoder(tmp_path)


@given(st.lists(st.integers(2, 512), max_size=80))
def test_batches_hold_each_text_once_within_the_budget(lengths: list[int]) -> None:
    batches = list(plan_batches(lengths))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = len(batch) * max(lengths[row] for row in batch)
        assert padded <= TOKENS_PER_BATCH
        assert padded - sum(lengths[row] for row in batch) <= max(FREE_PADDING, padded / 4)


def test_onnxruntime_is_imported_only_with_its_telemetry_off() -> None:
    script = (
        "import os, sys; import steelyard_models.encoder;"
        " sys.exit(0 if 'onnxruntime' in sys.modules and os.environ['ORT_DISABLE_TELEMETRY'] == '1' else 3)"
    )
    clean = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    assert subprocess.run([sys.executable, "-c", script], env=clean, check=False).returncode == 0
    imports = [
        path.name
        for path in Path(steelyard_models.__file__).parent.rglob("*.py")
        if "import onnxruntime" in path.read_text(encoding="utf-8")
    ]
    assert imports == ["silent_onnxruntime.py"]
