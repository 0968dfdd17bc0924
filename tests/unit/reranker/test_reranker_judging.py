"""One call for all that is sent; a text that can not be judged has its own fault while the others keep their scores."""

import asyncio
from typing import Any

import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_reranker.backends.port import RerankBackendError
from steelyard_reranker.pairs import Judgement, Passage
from steelyard_reranker.row_fault import RowFault
from steelyard_runtime.blocking import Workers

from .fake_backend import Bench, FakeBackend, WordFormat

SHORT, LONG = "one two", " ".join(f"w{number:02d}" for number in range(40))
REFUSED = RowFault("refused", "the server refused it")


def judge(made: Bench, *texts: str, max_doc_tokens: int | None = None) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        planning = Workers("planning", 1)
        passages = [Passage(str(place), text) for place, text in enumerate(texts)]
        try:
            return await made.judge(planning).judge("the query", passages, max_doc_tokens)
        finally:
            planning.close()

    return asyncio.run(run())


def made(fault: Any = None, **settings: Any) -> Bench:
    return Bench(FakeBackend(fault=fault), settings, WordFormat(34))


def test_nothing_to_judge_asks_no_backend() -> None:
    bench = made(RerankBackendError("unreachable", "down"))
    assert judge(bench) == {}
    assert bench.backend.seen == []


def test_windows_of_all_texts_are_scored_in_one_call() -> None:
    bench = made(rerank_long_document="windows", rerank_window_overlap_tokens=0)
    verdicts = judge(bench, SHORT, LONG, LONG)
    ((_, sent),) = bench.backend.seen
    assert [len(text.split()) for text in sent] == [2, 32, 8, 32, 8]
    assert sent[1] + sent[2] == LONG
    assert [verdict.score for verdict in verdicts.values()] == [0.5, 0.5, 0.5]


def test_each_text_gets_the_scores_of_its_own_windows() -> None:
    bench = made(lambda _: [0.1, 0.2, 0.9, 0.8, 0.3], rerank_long_document="windows", rerank_window_overlap_tokens=0)
    verdicts = judge(bench, SHORT, LONG, LONG)
    assert [verdict.score for verdict in verdicts.values()] == [0.1, 0.9, 0.8]
    assert [verdicts[place].pair.windows.winner for place in ("1", "2")] == [1, 0]


def test_a_text_that_is_too_long_is_not_sent() -> None:
    bench = made(rerank_long_document="error")
    verdicts = judge(bench, SHORT, LONG)
    assert bench.backend.seen == [("the query", [SHORT])]
    assert isinstance(verdicts["0"], Judgement)
    assert verdicts["1"] == RowFault("text_too_long", "the text has 40 tokens, the pair has room for 32")


def test_the_fault_of_one_row_is_that_texts_own() -> None:
    verdicts = judge(made(lambda _: [0.7, REFUSED, 0.2]), "a", "b", "c")
    assert [verdicts["0"].score, verdicts["1"], verdicts["2"].score] == [0.7, REFUSED, 0.2]


def test_the_fault_of_one_window_leaves_its_text_a_score() -> None:
    bench = made(lambda _: [0.1, REFUSED, 0.4], rerank_long_document="windows", rerank_window_overlap_tokens=0)
    verdicts = judge(bench, SHORT, LONG)
    assert verdicts["1"].score == 0.4
    assert verdicts["1"].pair.truncated


@pytest.mark.parametrize(
    ("fault", "settings", "texts", "reason"),
    [
        (lambda _: [REFUSED] * 2, {}, (SHORT, LONG), "refused"),
        (None, {"rerank_long_document": "error"}, (LONG, LONG), "text_too_long"),
        (lambda _: [REFUSED], {"rerank_long_document": "error"}, (SHORT, LONG), "refused"),
        (None, {"rerank_max_chars_per_doc": 3}, ("   x", "    y"), "blank_after_cut"),
    ],
)
def test_faults_of_all_texts_are_the_backends(fault: Any, settings: Any, texts: Any, reason: str) -> None:
    with pytest.raises(RerankBackendError) as error:
        judge(made(fault, **settings), *texts)
    assert error.value.reason == reason


def test_a_query_that_is_too_long_is_refused_before_the_backend() -> None:
    bench = Bench(FakeBackend(), {}, WordFormat(33))
    with pytest.raises(SteelyardError) as error:
        judge(bench, SHORT)
    assert error.value.code is ErrorCode.QUERY_TOO_LONG
    assert bench.backend.seen == []


@pytest.mark.parametrize("code", [ErrorCode.DEADLINE_EXCEEDED, ErrorCode.UPSTREAM_TIMEOUT, ErrorCode.INTERNAL])
def test_a_coded_error_of_the_backend_is_the_backends(code: ErrorCode) -> None:
    with pytest.raises(RerankBackendError, match="late") as error:
        judge(made(SteelyardError(code, "late")), SHORT)
    assert error.value.reason == code


def test_without_a_tokenizer_texts_are_sent_as_they_are_and_nothing_is_counted() -> None:
    bench = Bench(FakeBackend(), {}, None)
    verdicts = judge(bench, SHORT, LONG)
    assert bench.backend.seen == [("the query", [SHORT, LONG])]
    assert [(one.tokens, one.pair.status, one.pair.truncated) for one in verdicts.values()] == [
        (None, "unavailable", None)
    ] * 2
