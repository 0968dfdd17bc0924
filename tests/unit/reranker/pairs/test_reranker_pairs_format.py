"""The formats count a pair as the model's own template makes it."""

import pytest

from steelyard_reranker.pairs import CrossEncoderFormat, LateInteractionFormat

from .tiny_tokenizers import CORPUS, KINDS, tiny


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("query", CORPUS)
def test_a_cross_encoders_pair_is_one_input(kind: str, query: str) -> None:
    tokenizer = tiny(kind)
    made = CrossEncoderFormat(tokenizer, 512)
    for text in (*CORPUS, "", " ", "[SEP] <s> </s>"):
        tokens = len(tokenizer.encode_pair_inputs(query, [text])[0][0])
        assert made.pair_tokens(made.query_tokens(query), len(made.spans(text))) == tokens
        assert made.room(made.query_tokens(query), tokens) == len(made.spans(text))
    assert made.limit == 512


@pytest.mark.parametrize("kind", KINDS)
def test_late_interactions_pair_is_both_readings(kind: str) -> None:
    tokenizer = tiny(kind)
    made = LateInteractionFormat(tokenizer, 100)
    query, text = CORPUS[0], CORPUS[1]
    readings = [len(tokenizer.encode(one, special=True)) for one in (query, text)]
    assert made.limit == 200
    assert made.pair_tokens(made.query_tokens(query), len(made.spans(text))) == sum(readings)
    assert made.room(readings[0], sum(readings)) == len(made.spans(text))


def test_a_reading_has_a_limit_of_its_own() -> None:
    made = LateInteractionFormat(tiny("wordpiece"), 100)
    assert made.room(1, made.limit) == made.room(100, made.limit) == 98
    assert made.room(101, made.limit) < 0
    assert made.room(50, 100) == 48


@pytest.mark.parametrize("kind", KINDS)
def test_spans_are_the_offsets_of_the_whole_encoding(kind: str) -> None:
    tokenizer = tiny(kind)
    for text in (*CORPUS, "a 👨\u200d👩\u200d👧 b", "e\u0301 ﷺ", ""):
        spans = tokenizer.spans(text)
        assert tuple(spans[index] for index in range(len(spans))) == tokenizer.encode(text).offsets
        with pytest.raises(IndexError, match=f"token {len(spans)} of {len(spans)}"):
            spans[len(spans)]
