"""What is sent of a text, and what its report says, where tokens are words."""

from typing import Any

import pytest

from steelyard_contracts.documents import CandidateMetadata
from steelyard_contracts.enums import PairPolicy, PairStatus, WindowAggregation
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.pairs import PairReport, WindowsReport
from steelyard_reranker.pairs import Judgement, PairFormat, PairPlanner, PairSettings, Passage, Plan, judgement
from steelyard_reranker.row_fault import RowFault
from tests.unit.reranker.fake_backend import WordFormat

QUERY = "the query"
"""Two tokens, so that a pair of 22 has room for 20."""

LIMIT = 22
FAULT = RowFault("refused", "the server refused it")


def words(first: int, until: int) -> str:
    return " ".join(f"w{number:03d}" for number in range(first, until))


def passage(text: str, char_start: int = 1000, chars: int | None = None) -> Passage:
    return Passage(
        "c1",
        text,
        CandidateMetadata(
            chunk_id="c1",
            document_id="d1",
            revision="r7",
            source="s",
            section="4.2 Seals",
            scope="internal",
            char_start=char_start,
            char_end=char_start + (len(text) if chars is None else chars),
        ),
    )


def settings(**fields: Any) -> PairSettings:
    return PairSettings(min_doc_tokens=16, **fields)


def plan(text: str, max_doc_tokens: int | None = None, made: PairFormat | None = None, **fields: Any) -> Any:
    (planned,) = PairPlanner(made or WordFormat(LIMIT), settings(**fields)).plans(
        QUERY, [passage(text)], max_doc_tokens
    )
    return planned


def report(planned: Plan, scores: list[Any] | None = None, **fields: Any) -> PairReport:
    judged = judgement(planned, scores or [0.5] * len(planned.pieces), settings(**fields))
    assert isinstance(judged, Judgement)
    return judged.pair


def windows_of(planned: Plan, scores: list[Any], **fields: Any) -> tuple[float, WindowsReport]:
    judged = judgement(planned, scores, settings(long_document=PairPolicy.WINDOWS, **fields))
    assert isinstance(judged, Judgement)
    assert judged.pair.windows is not None
    return judged.score, judged.pair.windows


class TestTheQuery:
    @pytest.mark.parametrize("count", [6, 7])
    def test_one_that_leaves_too_little_is_refused_however_short_the_texts_are(self, count: int) -> None:
        planner = PairPlanner(WordFormat(LIMIT), settings())
        if count == 6:
            assert isinstance(planner.plans(words(0, count), [passage("x")])[0], Plan)
            return
        with pytest.raises(
            SteelyardError, match=r"7 tokens, which leaves 15 of a pair's 22.*MIN_DOC_TOKENS=16"
        ) as error:
            planner.plans(words(0, count), [passage("x")])
        assert error.value.code is ErrorCode.QUERY_TOO_LONG

    def test_the_budget_and_not_the_model_decides(self) -> None:
        planner = PairPlanner(WordFormat(512), settings(budget=LIMIT))
        with pytest.raises(SteelyardError, match="22"):
            planner.plans(words(0, 7), [passage("x")])


class TestTruncate:
    def test_what_fits_is_sent_whole(self) -> None:
        text = words(0, 20) + " \n"
        planned = plan(text)
        assert planned.texts == [text]
        assert report(planned) == PairReport(
            tokens_total=22,
            tokens_kept=22,
            truncated=False,
            policy=PairPolicy.TRUNCATE,
            kept_spans=[(0, len(text))],
            query_tokens=2,
        )

    def test_what_does_not_fit_is_cut_and_says_so(self) -> None:
        text = words(0, 21)
        planned = plan(text)
        assert planned.texts == [words(0, 20)]
        made = report(planned)
        assert (made.tokens_total, made.tokens_kept, made.truncated) == (23, 22, True)
        assert made.kept_spans == [(0, len(words(0, 20)))]

    def test_a_budget_is_smaller_than_the_model(self) -> None:
        assert plan(words(0, 40), made=WordFormat(512), budget=LIMIT).texts == [words(0, 20)]


class TestTheCap:
    def test_the_report_and_the_cost_are_of_the_whole_text(self) -> None:
        text = words(0, 30)
        planned = plan(text, max_chars=9)
        assert planned.texts == [words(0, 2)]
        made = report(planned)
        assert (made.tokens_total, made.tokens_kept, made.truncated) == (32, 4, True)
        assert made.kept_spans == [(0, 9)]
        judged = judgement(planned, [0.5], settings())
        assert isinstance(judged, Judgement)
        assert judged.tokens == 30

    def test_a_cap_and_the_budget_both_hold(self) -> None:
        assert plan(words(0, 30), max_chars=len(words(0, 25))).texts == [words(0, 20)]

    @pytest.mark.parametrize(("cap", "sent"), [(1, "保"), (4, "保守点検"), (5, "保守点検"), (0, "保守点検")])
    def test_characters_are_code_points(self, cap: int, sent: str) -> None:
        planned = plan("保守点検", max_chars=cap)
        assert planned.texts == [sent]
        assert report(planned).truncated is (sent != "保守点検")

    def test_white_space_alone_is_nothing_to_read(self) -> None:
        assert plan(" " * 9 + "word", max_chars=9).reason == "blank_after_cut"

    def test_tokens_of_a_request_bound_the_copy_too(self) -> None:
        text = words(0, 30)
        planned = plan(text, 5)
        assert planned.texts == [words(0, 5)]
        assert (report(planned).tokens_total, report(planned).tokens_kept) == (32, 7)
        assert plan(text, 25).texts == [words(0, 20)]
        assert plan(text, 5, long_document=PairPolicy.ERROR).texts == [words(0, 5)], "the caller asked for the cut"


class TestError:
    def test_a_text_that_does_not_fit_has_a_fault(self) -> None:
        planner = PairPlanner(WordFormat(LIMIT), settings(long_document=PairPolicy.ERROR))
        fits, too_long = planner.plans(QUERY, [passage(words(0, 20)), passage(words(0, 21))])
        assert isinstance(fits, Plan)
        assert report(fits, long_document=PairPolicy.ERROR).policy == "error"
        assert too_long == RowFault("text_too_long", "the text has 21 tokens, the pair has room for 20")


class TestUncuttable:
    @pytest.mark.parametrize("policy", ["truncate", "windows"])
    def test_a_tokenizer_without_usable_offsets_cuts_nothing(self, policy: Any) -> None:
        class NoOffsets(WordFormat):
            def spans(self, text: str) -> list[tuple[int, int]]:
                return [(0, 0)] * len(text.split())

        assert plan(words(0, 30), made=NoOffsets(LIMIT), long_document=PairPolicy(policy)).reason == "text_uncuttable"
        assert plan(words(0, 30), 5, made=NoOffsets(LIMIT)).reason == "text_uncuttable"
        assert plan(words(0, 20), made=NoOffsets(LIMIT)).texts == [words(0, 20)]


class TestWindows:
    def test_they_overlap_and_leave_nothing_out(self) -> None:
        text = words(0, 50)
        planned = plan(text, long_document=PairPolicy.WINDOWS, window_overlap=4)
        assert [sent.split() for sent in planned.texts] == [
            words(first, until).split() for first, until in ((0, 20), (16, 36), (32, 50))
        ]
        made = report(planned, long_document=PairPolicy.WINDOWS)
        assert (made.tokens_total, made.tokens_kept, made.truncated) == (52, 52, False)
        assert made.kept_spans == [(0, len(text))]

    def test_an_overlap_is_at_most_half_a_window(self) -> None:
        planned = plan(words(0, 60), long_document=PairPolicy.WINDOWS, window_overlap=500)
        assert [sent.split()[0] for sent in planned.texts] == ["w000", "w010", "w020", "w030", "w040"]

    def test_no_overlap_is_one(self) -> None:
        planned = plan(words(0, 45), long_document=PairPolicy.WINDOWS, window_overlap=0)
        assert [len(sent.split()) for sent in planned.texts] == [20, 20, 5]

    def test_a_text_that_fits_has_none(self) -> None:
        planned = plan(words(0, 20), long_document=PairPolicy.WINDOWS)
        assert report(planned, long_document=PairPolicy.WINDOWS).windows is None

    def test_a_longer_query_makes_smaller_windows(self) -> None:
        planner = PairPlanner(WordFormat(LIMIT), settings(long_document=PairPolicy.WINDOWS, window_overlap=0))
        (planned,) = planner.plans(words(0, 6), [passage(words(0, 48))])
        assert isinstance(planned, Plan)
        assert [len(sent.split()) for sent in planned.texts] == [16, 16, 16]

    def test_each_keeps_the_identity_and_both_spans(self) -> None:
        text = words(0, 50)
        planned = plan(text, long_document=PairPolicy.WINDOWS, window_overlap=4)
        score, made = windows_of(planned, [0.2, 0.9, 0.4], window_overlap=4)
        assert (score, made.winner, made.max_score, made.capped_score) == (0.9, 1, 0.9, 0.9)
        second = made.windows[1]
        assert text[slice(*second.span)].split() == words(16, 36).split()
        assert second.document_span == (1000 + second.span[0], 1000 + second.span[1])
        assert [
            (one.chunk_id, one.document_id, one.revision, one.section, one.scope, one.score) for one in made.windows
        ] == [("c1", "d1", "r7", "4.2 Seals", "internal", score) for score in (0.2, 0.9, 0.4)]
        assert [one.tokens for one in made.windows] == [22, 22, 20]

    def test_a_text_that_is_not_the_documents_own_has_no_span_there(self) -> None:
        planner = PairPlanner(WordFormat(LIMIT), settings(long_document=PairPolicy.WINDOWS))
        text = words(0, 50)
        for one in (passage(text, chars=len(text) - 1), Passage("c1", text)):
            (planned,) = planner.plans(QUERY, [one])
            assert isinstance(planned, Plan)
            _, made = windows_of(planned, [0.5] * len(planned.pieces))
            assert {window.document_span for window in made.windows} == {None}

    def test_the_earliest_of_equals_wins(self) -> None:
        planned = plan(words(0, 50), long_document=PairPolicy.WINDOWS, window_overlap=4)
        assert windows_of(planned, [0.1, 0.7, 0.7])[1].winner == 1

    def test_capped_looks_at_the_first_few_and_reports_both(self) -> None:
        text = words(0, 50)
        planned = plan(text, long_document=PairPolicy.WINDOWS, window_overlap=4)
        score, made = windows_of(planned, [0.3, 0.2, 0.9], max_windows=2, aggregation=WindowAggregation.CAPPED)
        assert (score, made.winner, made.max_score, made.capped_score) == (0.3, 0, 0.9, 0.3)
        score, made = windows_of(planned, [0.3, 0.2, 0.9], max_windows=2)
        assert (score, made.winner, made.max_score, made.capped_score) == (0.9, 2, 0.9, 0.3)

    def test_what_capped_does_not_look_at_was_not_read(self) -> None:
        text = words(0, 50)
        planned = plan(text, long_document=PairPolicy.WINDOWS, window_overlap=4)
        made = report(
            planned, [0.3, 0.2, 0.9], max_windows=2, aggregation=WindowAggregation.CAPPED,
            long_document=PairPolicy.WINDOWS,
        )  # fmt: skip
        assert (made.truncated, made.tokens_total, made.tokens_kept) == (True, 52, 38)
        assert made.kept_spans == [(0, len(words(0, 36)))]

    def test_the_fault_of_one_leaves_the_others(self) -> None:
        planned = plan(words(0, 50), long_document=PairPolicy.WINDOWS, window_overlap=4)
        score, made = windows_of(planned, [0.3, FAULT, 0.2])
        assert (score, made.winner) == (0.3, 0)
        assert made.windows[1].fault is not None
        assert (made.windows[1].fault.reason, made.windows[1].score) == ("refused", None)
        pair = report(planned, [0.3, FAULT, 0.2], long_document=PairPolicy.WINDOWS)
        assert pair.truncated
        first, second = pair.kept_spans or ()
        assert (first[0], second[1]) == (0, len(words(0, 50)))
        assert pair.tokens_kept == 2 + 20 + 18

    def test_faults_of_all_are_the_texts_own(self) -> None:
        planned = plan(words(0, 50), long_document=PairPolicy.WINDOWS, window_overlap=4)
        assert judgement(planned, [FAULT] * 3, settings()) == FAULT
        capped = settings(aggregation=WindowAggregation.CAPPED, max_windows=1)
        assert judgement(planned, [FAULT, 0.9, 0.9], capped) == FAULT

    def test_a_window_of_white_space_is_not_sent(self) -> None:
        class Spaces(WordFormat):
            def spans(self, text: str) -> list[tuple[int, int]]:
                return [(place, place + 1) for place in range(len(text))]

        text = "a" * 20 + " " * 20 + "b" * 5
        planned = plan(text, made=Spaces(LIMIT), long_document=PairPolicy.WINDOWS, window_overlap=0)
        assert planned.texts == ["a" * 20, "b" * 5]
        pair = report(planned, long_document=PairPolicy.WINDOWS)
        assert (pair.kept_spans, pair.truncated) == ([(0, 20), (40, 45)], True)


class TestWithoutATokenizer:
    def planned(self, text: str, **fields: Any) -> Any:
        return PairPlanner(None, settings(**fields)).plans(QUERY, [passage(text)])[0]

    @pytest.mark.parametrize("policy", [PairPolicy.TRUNCATE, PairPolicy.ERROR])
    def test_nothing_is_claimed(self, policy: PairPolicy) -> None:
        planned = self.planned(words(0, 900), long_document=policy)
        assert planned.texts == [words(0, 900)]
        judged = judgement(planned, [0.5], settings(long_document=policy))
        assert judged == Judgement(0.5, None, PairReport(status=PairStatus.UNAVAILABLE, policy=policy))

    def test_a_cap_is_known_to_have_cut(self) -> None:
        planned = self.planned(words(0, 900), max_chars=9)
        assert planned.texts == [words(0, 2)]
        assert report(planned) == PairReport(status=PairStatus.UNAVAILABLE, truncated=True, policy=PairPolicy.TRUNCATE)
        assert self.planned(" " * 9 + "x", max_chars=9).reason == "blank_after_cut"

    def test_tokens_of_a_request_can_not_be_counted(self) -> None:
        with pytest.raises(SteelyardError, match="RERANK_MODEL_DIR") as error:
            PairPlanner(None, settings()).plans(QUERY, [passage("x")], 5)
        assert error.value.code is ErrorCode.INVALID_REQUEST
