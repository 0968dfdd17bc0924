import hashlib
from pathlib import Path

import pytest

from steelyard_models.errors import TokenizerError
from steelyard_models.tokenizer import TextTokenizer
from tests.unit.models.tiny_encoder import write_tokenizer


@pytest.fixture
def tokenizer(tmp_path: Path) -> TextTokenizer:
    return TextTokenizer(write_tokenizer(tmp_path))


def test_baked_in_truncation_and_padding_are_off(tokenizer: TextTokenizer) -> None:
    assert tokenizer.count("a cat likes the sea") == 5
    assert tokenizer.count("cat") == 1
    assert tokenizer.count_many(["cat", "a cat likes the sea", ""]) == [1, 5, 0]


def test_special_tokens_are_counted_on_demand(tokenizer: TextTokenizer) -> None:
    assert (tokenizer.special_tokens, tokenizer.pair_special_tokens) == (2, 3)
    assert tokenizer.count("cat", special=True) == 3
    assert tokenizer.count_many(["cat", ""], special=True) == [3, 2]


def test_offsets_are_codepoints(tokenizer: TextTokenizer) -> None:
    text = "👍🏽 cät cats."
    encoded = tokenizer.encode(text)
    assert [text[start:end] for start, end in encoded.offsets] == ["👍🏽", "cät", "cat", "s", "."]
    assert encoded.tokens == ("[UNK]", "cat", "cat", "##s", ".")
    assert len(encoded) == 5


def test_pair_says_which_part_a_token_is_of(tokenizer: TextTokenizer) -> None:
    ids, types = tokenizer.encode_pair_inputs("a cat", ["the sea."])[0]
    assert ids == [tokenizer.token_id(token) for token in ["[CLS]", "a", "cat", "[SEP]", "the", "sea", ".", "[SEP]"]]
    assert types == [0, 0, 0, 0, 1, 1, 1, 1]


def test_special_token_spelled_by_a_text_belongs_to_the_text(tokenizer: TextTokenizer) -> None:
    (ids, template) = tokenizer.encode_inputs(["cat [SEP]"])[0]
    assert ids == [2, 5, 3, 3]
    assert template == [True, False, False, True]


def test_the_hash_is_that_of_the_file(tokenizer: TextTokenizer) -> None:
    assert tokenizer.sha256 == hashlib.sha256(tokenizer.path.read_bytes()).hexdigest()


@pytest.mark.parametrize("content", [None, b"{}", b"\xff"])
def test_unusable_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TokenizerError, match=r"tokenizer\.json: "):
        TextTokenizer(path)
