from pathlib import Path

import numpy as np
import pytest

from steelyard_models.calibration import Calibration
from steelyard_models.encoder import OnnxTextEncoder
from steelyard_models.errors import GivenUpError, QueryTooLongError, TextTooLongError
from steelyard_models.late_interaction import maxsim
from steelyard_models.local_reranker import LateInteractionReranker
from tests.unit.models.tiny_encoder import write_encoder

CALIBRATION = Calibration(
    slope=2.0, intercept=-1.0, base_rate=0.25, gram_slope=0.5, gram_intercept=0.25, model_sha256="0"
)


@pytest.fixture
def encoder(tmp_path: Path) -> OnnxTextEncoder:
    return OnnxTextEncoder(write_encoder(tmp_path), max_tokens=8)


@pytest.fixture
def reranker(encoder: OnnxTextEncoder) -> LateInteractionReranker:
    return LateInteractionReranker(encoder, CALIBRATION)


def test_latin_text_is_scored_by_maxsim_alone(encoder: OnnxTextEncoder, reranker: LateInteractionReranker) -> None:
    texts = ["the dog likes fish", "the sea .", "a cat"]
    query, *documents = encoder.token_vectors(["a cat likes fish", *texts])
    expected = [maxsim(query, document) for document in documents]
    np.testing.assert_allclose(reranker.raw_scores("a cat likes fish", texts), expected, rtol=1e-6)


def test_scores_are_calibrated_raw_scores(reranker: LateInteractionReranker) -> None:
    texts = ["the dog likes fish", "a cat"]
    raw = reranker.raw_scores("a cat", texts)
    np.testing.assert_array_equal(reranker.scores("a cat", texts), [CALIBRATION.score(x) for x in raw])


def test_score_does_not_depend_on_the_other_candidates(reranker: LateInteractionReranker) -> None:
    texts = ["the dog likes fish", "a cat", "", "the sea ."]
    together = reranker.scores("a cat likes", texts)
    for text, score in zip(texts, together, strict=True):
        assert reranker.scores("a cat likes", [text])[0] == score


def test_no_candidates_give_no_scores(reranker: LateInteractionReranker) -> None:
    assert reranker.scores("a cat", []).shape == (0,)
    assert reranker.scores("猫", []).shape == (0,)


def test_blank_texts_have_a_raw_score_of_zero(reranker: LateInteractionReranker) -> None:
    assert reranker.raw_scores("a cat", ["", " "]).tolist() == [0, 0]
    assert reranker.raw_scores("", ["a cat"]).tolist() == [0]


def test_foreign_query_is_scored_by_shared_grams(reranker: LateInteractionReranker) -> None:
    # Grams of the query: 灯台, 灯, 台. Its three tokens (ideographs stand alone) score the mapped coverage.
    raw = reranker.raw_scores("灯台?", ["灯台です", "台", "a cat"])
    assert raw == pytest.approx([0.25 + 0.5 * 1, 0.25 + 0.5 / 3, 0.25])


def test_mixed_query_averages_over_its_tokens(reranker: LateInteractionReranker) -> None:
    # "cat" is found (1), 猫 is found (0.25 + 0.5); the full stop has no say.
    assert reranker.raw_scores("cat 猫 .", ["cat 猫"])[0] == pytest.approx((1 + 0.75) / 2)


def test_foreign_letters_of_a_document_do_not_match_latin_tokens(reranker: LateInteractionReranker) -> None:
    assert reranker.raw_scores("cat", ["кот"]).tolist() == [0]


def test_long_texts_are_told_apart(reranker: LateInteractionReranker) -> None:
    with pytest.raises(QueryTooLongError):
        reranker.scores("a " * 7, ["cat"])
    with pytest.raises(TextTooLongError, match="text 1 ") as caught:
        reranker.scores("cat", ["cat", "a " * 7])
    assert not isinstance(caught.value, QueryTooLongError)


def test_it_stops_between_batches_when_nobody_waits(reranker: LateInteractionReranker) -> None:
    asked: list[bool] = []

    def go_on() -> bool:
        asked.append(True)
        return len(asked) < 2

    with pytest.raises(GivenUpError, match="nobody waits"):
        reranker.scores("a cat", ["a cat likes the sea"] * 2000, go_on=go_on)
    assert len(asked) == 2
