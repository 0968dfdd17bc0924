"""The published truncation fixture as a golden table, and the service's own pairs beside the diagnostic's."""

from pathlib import Path

import pytest

from steelyard_evidence.errors import PairLimitError
from steelyard_evidence.survival import PairEncoder, TruncationStrategy, inspect
from steelyard_evidence.survival.fixture import EVIDENCE, LONG_QUERY, SHORT_QUERY, Place, document
from steelyard_models.cache import locate
from steelyard_models.tokenizer import TextTokenizer
from steelyard_reranker.pairs import CrossEncoderFormat, PairPlanner, PairSettings, Passage, Plan

pytestmark = pytest.mark.models

QUERIES = {SHORT_QUERY: (9, 747), LONG_QUERY: (48, 786)}
SURVIVAL = {128: (1, 0, 0), 256: (1, 0, 0), 512: (1, 1, 0), 1024: (1, 1, 1)}
DOCUMENT_TOKENS = {128: (116, 77), 256: (244, 205), 512: (500, 461), 1024: (735, 735)}
BOTH = (TruncationStrategy.ONLY_SECOND, TruncationStrategy.LONGEST_FIRST)


@pytest.fixture(scope="module")
def tokenizer_json() -> Path:
    return locate("all-minilm-l6-v2") / "tokenizer.json"


@pytest.fixture(scope="module")
def encoder(tokenizer_json: Path) -> PairEncoder:
    return PairEncoder(tokenizer_json)


@pytest.mark.parametrize("strategy", BOTH)
@pytest.mark.parametrize("limit", SURVIVAL)
@pytest.mark.parametrize("query", QUERIES, ids=["short", "long"])
def test_survival_table(encoder: PairEncoder, query: str, limit: int, strategy: TruncationStrategy) -> None:
    query_tokens, pair_tokens = QUERIES[query]
    for place, survives in zip(Place, SURVIVAL[limit], strict=True):
        made = document(place)
        assert made.text[slice(*made.evidence)] == EVIDENCE
        found = inspect(encoder, query, made.text, made.evidence, limit, strategy)
        assert (found.pair_tokens, found.query_tokens, found.target) == (pair_tokens, query_tokens, 15)
        assert (found.kept, found.full, found.partial) == (15 * survives, bool(survives), False)
        limited = encoder.encode_within(query, made.text, limit, strategy)
        assert len(limited.document) == DOCUMENT_TOKENS[limit][query == LONG_QUERY]


@pytest.mark.parametrize(("limit", "differ"), [(99, False), (98, True), (80, True)])
def test_the_strategies_part_below_99_tokens_with_the_long_query(
    encoder: PairEncoder, limit: int, differ: bool
) -> None:
    text = document(Place.BEGINNING).text
    second, longest = (encoder.encode_within(LONG_QUERY, text, limit, one).ids for one in BOTH)
    assert (second != longest) is differ


def test_cutting_the_query_can_not_make_room_for_the_document(encoder: PairEncoder) -> None:
    made = document(Place.END)
    with pytest.raises(PairLimitError, match="only_first can not bring the pair to 512"):
        inspect(encoder, SHORT_QUERY, made.text, made.evidence, 512, TruncationStrategy.ONLY_FIRST)


@pytest.mark.parametrize("query", QUERIES, ids=["short", "long"])
@pytest.mark.parametrize("limit", SURVIVAL)
def test_the_service_sends_the_ids_that_the_diagnostic_predicts(
    encoder: PairEncoder, tokenizer_json: Path, query: str, limit: int
) -> None:
    text = document(Place.MIDDLE).text
    planner = PairPlanner(CrossEncoderFormat(TextTokenizer(tokenizer_json), limit), PairSettings())
    (plan,) = planner.plans(query, [Passage("one", text)])
    assert isinstance(plan, Plan)
    (sent,) = plan.texts
    predicted = encoder.encode_within(query, text, limit, TruncationStrategy.ONLY_SECOND)
    actual = encoder.encode(query, sent)
    assert actual.ids == predicted.ids
    assert actual.attention_mask == predicted.attention_mask == (1,) * len(predicted)


@pytest.mark.parametrize(
    ("query", "text", "evidence"),
    [
        (
            "グランドボルトの締付トルクは？",
            "点検は毎週行う。締付トルクは24 N·mとする。記録を残す。",
            "締付トルクは24 N·mとする",
        ),
        ("ما عزم الشد؟", "افحص المضخة أسبوعيا. عزم الشد هو 24 نيوتن متر. سجل النتيجة.", "عزم الشد هو 24 نيوتن متر"),
        ("Какой момент затяжки?", "Проверяйте насос. Момент затяжки 24 Н·м 🙂. Запишите.", "Момент затяжки 24 Н·м"),
    ],
)
def test_offsets_are_code_points_in_every_script(encoder: PairEncoder, query: str, text: str, evidence: str) -> None:
    start = text.index(evidence)
    span = (start, start + len(evidence))
    whole = inspect(encoder, query, text, span, 512, TruncationStrategy.ONLY_SECOND)
    assert whole.full
    assert whole.target > 3
    assert whole.kept_spans == ((0, len(text)),)
    short = inspect(encoder, query, text, span, whole.pair_tokens - 8, TruncationStrategy.ONLY_SECOND)
    assert short.kept_spans[0][1] < len(text)
