from pathlib import Path

import numpy as np
import pytest

from steelyard_models.cross_encoder import OnnxCrossEncoder
from steelyard_models.errors import EncoderError, GivenUpError, TextTooLongError
from tests.unit.models.tiny_cross_encoder import onnx_pair_sum, weights, write_cross_encoder
from tests.unit.models.tiny_encoder import WORDS, onnx_lookup, table, write_tokenizer


def expected(query: str, document: str) -> float:
    """The tiny model's logit, from its weights: [CLS] query [SEP] document [SEP]."""
    words = ["[CLS]", *query.split(), "[SEP]", *document.split(), "[SEP]"]
    return float(sum(weights()[WORDS.index(word), 0] for word in words))


@pytest.fixture
def encoder(tmp_path: Path) -> OnnxCrossEncoder:
    return OnnxCrossEncoder(write_cross_encoder(tmp_path / "tiny"))


def test_logits_are_those_of_the_pair_in_the_models_template(encoder: OnnxCrossEncoder) -> None:
    documents = ["the sea .", "a cat likes the sea .", "dog"]
    logits = encoder.logits("a cat", documents)
    assert logits.dtype == np.float64
    np.testing.assert_allclose(logits, [expected("a cat", one) for one in documents], rtol=1e-5)


def test_order_is_restored_over_many_batches(encoder: OnnxCrossEncoder) -> None:
    draw = np.random.default_rng(3)
    documents = [" ".join(draw.choice(WORDS[4:-1], size=int(n))) for n in draw.integers(1, 200, size=150)]
    np.testing.assert_allclose(
        encoder.logits("a cat", documents), [expected("a cat", one) for one in documents], rtol=1e-4, atol=1e-4
    )


def test_no_documents_have_no_logits(encoder: OnnxCrossEncoder) -> None:
    assert encoder.logits("a cat", []).shape == (0,)


def test_a_pair_that_is_too_long_is_refused_by_position_and_never_cut(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "tiny")
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 8}')
    encoder = OnnxCrossEncoder(folder)
    assert encoder.logits("a cat", ["the sea ."]).shape == (1,)
    with pytest.raises(TextTooLongError, match="text 1 has 9 tokens") as caught:
        encoder.logits("a cat", ["dog", "a dog likes ."])
    assert (caught.value.index, caught.value.limit) == (1, 8)


def test_it_stops_between_batches_when_nobody_waits(encoder: OnnxCrossEncoder) -> None:
    asked: list[bool] = []

    def go_on() -> bool:
        asked.append(True)
        return len(asked) < 3

    documents = ["the sea " * 200] * 100
    with pytest.raises(GivenUpError, match="nobody waits"):
        encoder.logits("a cat", documents, go_on=go_on)
    assert len(asked) == 3


def test_a_model_without_one_logit_a_pair_is_named(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"model\.onnx: output 'logits' has shape .* expected one logit a pair"):
        OnnxCrossEncoder(write_cross_encoder(tmp_path / "two", labels=2))
    write_tokenizer(tmp_path)
    (tmp_path / "model.onnx").write_bytes(onnx_lookup(table()))
    with pytest.raises(EncoderError, match="expected one logit a pair"):
        OnnxCrossEncoder(tmp_path)


def test_padding_would_be_seen_if_it_were_not_masked(tmp_path: Path) -> None:
    """The tiny model must be able to fail the tests above."""
    folder = write_cross_encoder(tmp_path / "tiny")
    assert weights()[WORDS.index("[PAD]"), 0] != 0
    assert len(onnx_pair_sum(weights())) == (folder / "model.onnx").stat().st_size
