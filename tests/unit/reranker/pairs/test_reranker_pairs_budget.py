"""No pair that is sent has more tokens than it may, whatever the text, and the report says exactly what was sent.

10,000 random texts in all, by three kinds of tokenizer, two kinds of model, two policies and several budgets.
"""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
import regex

from steelyard_contracts.enums import PairPolicy
from steelyard_models.cache import locate
from steelyard_models.tokenizer import TextTokenizer
from steelyard_reranker.pairs import (
    CrossEncoderFormat,
    LateInteractionFormat,
    PairFormat,
    PairPlanner,
    PairSettings,
    Passage,
    Plan,
    judgement,
)

from .random_texts import SCRIPTS, random_text
from .tiny_tokenizers import KINDS, tiny

QUERY = "Which seal fits AX-104-B?"
READING = 72


def tokens_of_pair(tokenizer: TextTokenizer, pair_format: PairFormat, sent: str) -> int:
    """Counted by encoding what the model is given, and not by the functions under test."""
    if isinstance(pair_format, CrossEncoderFormat):
        return len(tokenizer.encode_pair_inputs(QUERY, [sent])[0][0])
    readings = [len(tokenizer.encode(one, special=True)) for one in (QUERY, sent)]
    assert max(readings) <= READING
    return sum(readings)


def planned(pair_format: PairFormat, settings: PairSettings, text: str) -> Plan:
    (plan,) = PairPlanner(pair_format, settings).plans(QUERY, [Passage("a", text)])
    assert isinstance(plan, Plan), plan
    return plan


def check(source: random.Random, tokenizer: TextTokenizer, text: str) -> bool:
    """Check one text under one random choice of everything else; returns whether it had to be cut."""
    pair_format: PairFormat = source.choice((CrossEncoderFormat, LateInteractionFormat))(tokenizer, READING)
    policy = source.choice((PairPolicy.TRUNCATE, PairPolicy.WINDOWS))
    settings = PairSettings(
        budget=source.choice((None, READING)),
        max_chars=source.choice((0, 0, 0, 150)),
        min_doc_tokens=16,
        long_document=policy,
        window_overlap=source.choice((0, 5, 200)),
    )
    plan = planned(pair_format, settings, text)
    limit = settings.budget or pair_format.limit
    graphemes = {one.end() for one in regex.finditer(r"\X", text)} if plan.texts != [text] else set()
    for piece, sent in zip(plan.pieces, plan.texts, strict=True):
        assert sent == text[piece.start : piece.end]
        assert plan.overhead + (piece.tokens or 0) == tokens_of_pair(tokenizer, pair_format, sent) <= limit
        assert piece.end == len(text[: settings.max_chars or None]) or piece.end in graphemes
    report = judgement(plan, [0.5] * len(plan.pieces), settings)
    spans = report.pair.kept_spans  # type: ignore[union-attr]
    if len(plan.pieces) == 1:
        assert "".join(text[start:end] for start, end in spans or ()) == plan.texts[0]
    else:
        assert spans == covered(plan)
        copy = text[: settings.max_chars or None]
        assert "".join(text[start:end] for start, end in spans or ()).split() == copy.split()
        assert all(before.end < after.end for before, after in pairwise(plan.pieces))
    return plan.texts != [text]


def covered(plan: Plan) -> list[tuple[int, int]]:
    read: set[int] = set()
    for piece in plan.pieces:
        read.update(range(piece.start, piece.end))
    starts = sorted(place for place in read if place - 1 not in read)
    ends = sorted(place + 1 for place in read if place + 1 not in read)
    return list(zip(starts, ends, strict=True))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__.strip("_"))
def test_no_pair_is_longer_than_it_may_be(script: Callable[[random.Random], str]) -> None:
    source = random.Random(script.__name__)
    cut = 0
    for number in range(1250):
        text = random_text(source, script)
        cut += check(source, tiny(KINDS[number % 3]), text)
    assert cut > 300, "most texts should be too long for their pair, or nothing is tested"


@pytest.mark.models
def test_no_pair_is_longer_than_it_may_be_by_a_real_tokenizer() -> None:
    source = random.Random("MiniLM")
    tokenizer = TextTokenizer(locate("all-minilm-l6-v2"))
    assert sum(check(source, tokenizer, random_text(source)) for _ in range(1000)) > 100


def test_a_cut_that_is_not_counted_again_would_be_too_long() -> None:
    """Without it the counting in `longest` could be left out and no test would fail."""
    source = random.Random(1)
    tokenizer = tiny("unigram")
    too_long = 0
    for _ in range(300):
        text = random_text(source)
        spans = tokenizer.spans(text)
        if len(spans) > 20:
            too_long += tokenizer.count(text[: spans[19][1]]) > 20
    assert too_long > 0
