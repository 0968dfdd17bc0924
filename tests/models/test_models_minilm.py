"""The embedded default's encoder and reranker with the real all-MiniLM-L6-v2."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tokenizers import Tokenizer

from steelyard_models.cache import locate
from steelyard_models.catalogue import load_catalogue
from steelyard_models.encoder import OnnxTextEncoder
from steelyard_models.errors import TextTooLongError
from steelyard_models.local_reranker import LateInteractionReranker
from steelyard_models.tokenizer import TextTokenizer

pytestmark = pytest.mark.models

TEXTS = [
    "The lighthouse on the northern cape was built in 1874 and is 31 metres tall.",
    "Short.",
    "猫は魚が好きです。 [SEP] café 👍🏽",
    "An employee has ten days of paid leave after six months. " * 12,
    "",
]


@pytest.fixture(scope="module")
def encoder() -> OnnxTextEncoder:
    model = load_catalogue().model("all-minilm-l6-v2")
    return OnnxTextEncoder(locate(model.name), threads=1, max_tokens=model.max_tokens)


@pytest.fixture(scope="module")
def reranker(encoder: OnnxTextEncoder) -> LateInteractionReranker:
    return LateInteractionReranker(encoder)


def test_tokenizer_is_the_published_one_without_its_cuts(encoder: OnnxTextEncoder) -> None:
    published = Tokenizer.from_file(str(encoder.tokenizer.path))
    published.no_truncation()
    published.no_padding()
    digest = hashlib.sha256(published.to_str(pretty=True).encode()).hexdigest()
    assert digest == "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"
    assert (encoder.tokenizer.special_tokens, encoder.tokenizer.pair_special_tokens) == (2, 3)
    assert encoder.tokenizer.count("word " * 700) == 700


def test_vector_is_the_same_alone_and_in_a_batch(encoder: OnnxTextEncoder) -> None:
    together, tokens = encoder.embed_with_tokens(TEXTS * 3)
    assert together.shape == (15, 384)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    for row, text in enumerate(TEXTS * 3):
        np.testing.assert_allclose(encoder.embed([text])[0], together[row], atol=1e-5)
        np.testing.assert_allclose(encoder.token_vectors([text])[0], tokens[row], atol=1e-5)


def test_meaning_decides_the_nearest_text(encoder: OnnxTextEncoder) -> None:
    query = encoder.embed(["How high is the tower by the sea?"])[0]
    assert (encoder.embed(TEXTS) @ query).argmax() == 0


def test_unknown_words_have_zero_rows(encoder: OnnxTextEncoder) -> None:
    (vectors,) = encoder.token_vectors(["猫は魚が好きです。"])
    tokens = TextTokenizer(encoder.tokenizer.path).encode("猫は魚が好きです。").tokens
    assert [bool(row.any()) for row in vectors] == [token != "[UNK]" for token in tokens]
    assert tokens.count("[UNK]") == 3


def test_position_table_is_the_limit(encoder: OnnxTextEncoder) -> None:
    assert encoder.embed(["word " * 510]).shape == (1, 384)
    with pytest.raises(TextTooLongError, match="513 tokens"):
        encoder.embed(["word " * 511])


def test_threads_may_share_an_encoder(encoder: OnnxTextEncoder) -> None:
    expected = encoder.embed(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(encoder.embed, [TEXTS] * 8):
            np.testing.assert_array_equal(vectors, expected)


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        (
            "When was the lighthouse built?",
            ["The lighthouse was built in 1874.", "The library opens at nine.", "灯台は1874年に建設された。"],
        ),
        (
            "灯台はいつ建てられましたか。",
            ["岬の灯台は1874年に建設されました。", "図書館は九時に開館します。", "It opens at nine."],
        ),
        (
            "متى بُنيت المنارة؟",
            ["بُنيت المنارة عام 1874 من الحجر.", "تفتح المكتبة أبوابها في التاسعة.", "It opens at nine."],
        ),
    ],
    ids=["english", "japanese", "arabic"],
)
def test_supporting_text_is_first_and_clear_of_the_rest(
    reranker: LateInteractionReranker, query: str, texts: list[str]
) -> None:
    scores = reranker.scores(query, texts)
    assert scores.argmax() == 0
    assert scores[0] > 5 * scores[1:].max()
