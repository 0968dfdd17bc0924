"""From evidence to an answer: when the model is asked at all, and what becomes of what it says."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from steelyard_chatqna.answer import Answerer, Draft
from steelyard_chatqna.conversation import Conversation
from steelyard_chatqna.llm.client import Delta
from steelyard_chatqna.pipeline.evidence import Evidence
from steelyard_chatqna.prompt import build_messages
from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_contracts.enums import ScoreKind
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_contracts.ledger import totals
from steelyard_runtime import context

from .fakes import LATE, QUESTION, SEAL, FakeLlm, WordCounter, entry, evidence, run, words
from .judging_here import judging_here

INVENTED = "The pump is painted black. It was made in 1987."
BROKEN = UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, "broken")
CONVERSATION = Conversation("", (), QUESTION)


class Unused:
    """Something that must not be asked."""

    name = "unused"

    async def count(self, messages: Any) -> int:
        raise AssertionError("tokens were counted")

    def forget(self) -> None:
        raise AssertionError("nothing was counted")

    def chat(self, messages: Any, sampling: Any) -> Any:
        raise AssertionError("the model was asked")


def answerer(llm: Any, counter: Any = None, **settings: Any) -> Answerer:
    return Answerer(ChatqnaSettings(**{"auth": "off"} | settings), llm, counter or WordCounter(), judging_here())


def answered(
    llm: Any, found: Evidence | None = None, *, counter: Any = None, max_tokens: int | None = None, **settings: Any
) -> tuple[Draft, list[str]]:
    """The finished draft, and what was shown piece by piece."""

    async def work() -> tuple[Draft, list[str]]:
        made = answerer(llm, counter, **settings)
        draft = await made.prepare("l", CONVERSATION, evidence() if found is None else found, max_tokens)
        return draft, [text async for text in made.stream(draft, {"temperature": 0})]

    draft, shown = run(work)
    counted = totals(draft.evidence.entries)
    assert counted.sent == len(draft.evidence.selected)
    assert draft.text == "".join(shown)
    return draft, shown


class TestAnswering:
    def test_the_model_is_asked_with_the_evidence_and_its_answer_is_proven(self) -> None:
        llm = FakeLlm(words(SEAL))
        draft, _ = answered(llm)
        assert draft.text == SEAL
        [(messages, sampling)] = llm.asked
        assert SEAL in messages[-1]["content"]
        assert sampling == {"temperature": 0}
        [citation] = draft.citations
        assert (citation.chunk_id, citation.marker, citation.quote) == ("a", 1, SEAL)
        assert (draft.abstained, draft.original_text, draft.outcome) == (None, None, "ok")
        assert llm.closed == 1

    def test_finish_reason_and_usage_are_the_models(self) -> None:
        usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
        draft, _ = answered(FakeLlm([SEAL, [Delta("", "length"), Delta("", None, usage)]]))
        assert (draft.finish_reason, draft.usage) == ("length", usage)

    @pytest.mark.parametrize("off_by", [0, 1])
    def test_a_count_that_differs_from_the_servers_own_is_forgotten(self, off_by: int) -> None:
        counter = WordCounter()
        draft, _ = answered(FakeLlm([SEAL]), counter=counter)
        assert draft.budget is not None
        assert counter.forgotten == 0, "a server that reports nothing contradicts nothing"
        counted = draft.budget.window - draft.budget.reserved - draft.budget.unused
        answered(FakeLlm([SEAL, [Delta("", None, {"prompt_tokens": counted + off_by})]]), counter=counter)
        assert counter.forgotten == off_by

    def test_the_reserved_tokens_are_the_requests_else_the_settings(self) -> None:
        for limit, reserved in ((None, 256), (33, 33), (1, 1)):
            draft, _ = answered(FakeLlm([SEAL]), max_tokens=limit)
            assert draft.budget is not None
            assert draft.budget.reserved == reserved

    def test_a_question_that_does_not_fit_is_refused_before_the_model(self) -> None:
        llm = FakeLlm([SEAL])
        with pytest.raises(SteelyardError) as error:
            answered(llm, llm_context_tokens=256, llm_max_tokens=64, max_tokens=250)
        assert error.value.code is ErrorCode.CONTEXT_LENGTH_EXCEEDED
        assert llm.asked == []

    def test_inline_markers_are_resolved_and_invented_ones_removed_and_counted(self) -> None:
        draft, shown = answered(FakeLlm(words(f"{SEAL} [1] [9]")), citation_mode="inline")
        assert shown == [f"{SEAL} [1]"]
        assert [(one.marker, one.chunk_id) for one in draft.citations] == [(1, "a")]
        assert draft.invented_markers == 1

    def test_degraded_evidence_is_answered_from_and_says_so(self) -> None:
        found = evidence(kind=ScoreKind.COSINE, degraded=[LATE])
        draft, _ = answered(FakeLlm([SEAL]), found, grounding_min_score=1.0)
        assert (draft.text, draft.outcome, draft.abstained) == (SEAL, "degraded", None)


class TestAbstaining:
    def test_nothing_selected_is_answered_without_the_model(self) -> None:
        draft, shown = answered(Unused(), evidence(()), counter=Unused(), no_evidence_answer="Nichts gefunden.")
        assert shown == ["Nichts gefunden."]
        assert (draft.abstained, draft.outcome, draft.budget) == ("nothing_selected", "empty", None)
        assert draft.finish_reason == "stop"

    def test_nothing_selected_after_a_failed_stage_is_degraded_and_not_empty(self) -> None:
        draft, _ = answered(Unused(), evidence((), degraded=[LATE]), counter=Unused())
        assert (draft.abstained, draft.outcome) == ("nothing_selected", "degraded")

    @pytest.mark.parametrize(("best", "abstains"), [(0.39, True), (0.4, False), (0.9, False)])
    def test_a_best_score_below_the_least_is_dropped_with_its_reason(self, best: float, *, abstains: bool) -> None:
        entries = [entry("a", 1, score=best), entry("b", 2, score=0.1), entry("c", None, score=0.0)]
        draft, _ = answered(FakeLlm([SEAL]), evidence(entries=entries), grounding_min_score=0.4)
        assert (draft.abstained == "below_grounding_min_score") is abstains
        if abstains:
            assert totals(draft.evidence.entries).dropped == {"below_threshold": 2, "over_top_n": 1}
            assert (draft.outcome, draft.evidence.selected) == ("empty", ())

    def test_a_least_score_of_zero_is_a_setting_and_never_abstains(self) -> None:
        entries = [entry("a", 1, score=0.0), entry("b", None), entry("c", None)]
        draft, _ = answered(FakeLlm([SEAL]), evidence(("a",), entries=entries), grounding_min_score=0.0)
        assert draft.abstained is None

    def test_evidence_of_which_nothing_fits_is_not_answered_without(self) -> None:
        counter = WordCounter()
        bare = sum(len(one["content"].split()) for one in _bare_messages())
        draft, shown = answered(
            Unused(),
            counter=counter,
            llm_context_tokens=256,
            llm_max_tokens=64,
            max_tokens=256 - bare,
            no_evidence_answer="None.",
        )
        assert shown == ["None."]
        assert (draft.abstained, draft.outcome) == ("no_room_for_evidence", "empty")
        assert totals(draft.evidence.entries).dropped == {"over_context_budget": 2, "over_top_n": 1}
        assert draft.budget is not None
        assert (draft.budget.evidence, draft.budget.unused) == (0, 0)

    def test_an_answer_that_nothing_supports_is_replaced_and_kept_in_the_ledger(self) -> None:
        llm = FakeLlm([*words(INVENTED), [Delta("", "length")]])
        draft, shown = answered(llm, no_evidence_answer="None.")
        assert shown == ["None."]
        assert (draft.abstained, draft.original_text) == ("unsupported_answer", INVENTED)
        assert (draft.citations, draft.unsupported) == ([], [])
        assert draft.finish_reason == "stop", "the no-evidence answer was not cut off"

    @pytest.mark.parametrize("policy", ["flag", "abstain"])
    @pytest.mark.parametrize(
        ("ended", "told"), [("stop", "stop"), ("tool_calls", "stop"), ("length", "length"), ("content_filter",) * 2]
    )
    @pytest.mark.parametrize("said", ["", " \n", "[7]", "[1]", " [1] [2]. "])
    def test_an_empty_answer_is_replaced_and_says_why_it_ended(
        self, said: str, ended: str, told: str, policy: str
    ) -> None:
        mode = "inline" if "[" in said else "attributed"
        llm = FakeLlm([said, [Delta("", ended)]])
        draft, shown = answered(llm, no_evidence_answer="None.", groundedness_policy=policy, citation_mode=mode)
        assert "".join(shown).strip() == "None."
        assert (draft.abstained, draft.original_text) == ("empty_answer", said)
        assert draft.finish_reason == told

    def test_the_policy_flag_shows_it_and_marks_it(self) -> None:
        draft, shown = answered(FakeLlm(words(INVENTED)), groundedness_policy="flag")
        assert shown == words(INVENTED)
        assert draft.abstained is None
        assert [one.text for one in draft.unsupported] == ["The pump is painted black.", "It was made in 1987."]


def _bare_messages() -> list[dict[str, str]]:
    return build_messages(CONVERSATION, [], ChatqnaSettings(auth="off").citation_mode)


class TestAnsweringWithoutEvidence:
    @pytest.mark.parametrize("policy", ["flag", "abstain"])
    @pytest.mark.parametrize(
        "found",
        [
            evidence(()),
            evidence(entries=[entry("a", 1, score=0.1), entry("b", 2, score=0.1), entry("c", None, score=0.0)]),
        ],
    )
    def test_the_models_answer_is_given_and_flagged(self, found: Evidence, policy: str) -> None:
        llm = FakeLlm(words(INVENTED))
        draft, _ = answered(
            llm, found, answer_without_evidence=True, groundedness_policy=policy, grounding_min_score=0.5
        )
        assert draft.text == INVENTED
        assert "<context>" not in llm.asked[0][0][-1]["content"]
        # The flag is an outcome that says that nothing was found, beside an answer that was not withheld.
        assert (draft.outcome, draft.abstained) == ("empty", None)
        assert len(draft.unsupported) == 2

    def test_with_evidence_the_groundedness_policy_holds_as_ever(self) -> None:
        draft, _ = answered(FakeLlm(words(INVENTED)), answer_without_evidence=True)
        assert draft.abstained == "unsupported_answer"

    def test_when_nothing_fits_the_model_is_asked_all_the_same(self) -> None:
        bare = sum(len(one["content"].split()) for one in _bare_messages())
        llm = FakeLlm([INVENTED])
        draft, _ = answered(
            llm, answer_without_evidence=True, llm_context_tokens=256, llm_max_tokens=64, max_tokens=256 - bare
        )
        assert (draft.text, draft.abstained, len(llm.asked)) == (INVENTED, None, 1)


class TestExtractive:
    def test_it_needs_neither_model_nor_counter(self) -> None:
        draft, shown = answered(Unused(), evidence(("b", "a", "c")), counter=Unused(), llm_backend="extractive")
        assert shown == [SEAL]
        assert (draft.extractive, draft.abstained, draft.budget, draft.messages) == (True, None, None, [])
        [citation] = draft.citations
        assert (citation.chunk_id, citation.marker, citation.quote) == ("a", 2, SEAL)
        assert draft.usage == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}

    def test_it_abstains_when_no_sentence_answers(self) -> None:
        found = evidence(("b", "c"), question="Wer malt die Bilder im Museum?")

        async def work() -> tuple[Draft, list[str]]:
            made = answerer(Unused(), Unused(), llm_backend="extractive", no_evidence_answer="None.")
            draft = await made.prepare("l", Conversation("", (), "Wer malt die Bilder im Museum?"), found, None)
            return draft, [text async for text in made.stream(draft, {})]

        draft, shown = run(work)
        assert (shown, draft.abstained, draft.citations) == (["None."], "nothing_extractable", [])

    @pytest.mark.parametrize("anyway", [False, True])
    def test_it_abstains_without_evidence_and_there_is_no_model_to_answer_anyway(self, *, anyway: bool) -> None:
        draft, _ = answered(
            Unused(), evidence(()), answer_without_evidence=anyway, counter=Unused(), llm_backend="extractive"
        )
        assert (draft.abstained, draft.outcome) == ("nothing_selected", "empty")


class TestBreakingOff:
    def interrupted(
        self, llm: FakeLlm, leave: Callable[[list[str]], bool], **settings: Any
    ) -> tuple[Draft, list[str], BaseException | None]:
        """Read until `leave` says so or an error comes."""
        caught: list[BaseException] = []

        async def work() -> tuple[Draft, list[str]]:
            made = answerer(llm, **settings)
            draft = await made.prepare("l", CONVERSATION, evidence(), None)
            shown: list[str] = []
            try:
                async with aclosing(made.stream(draft, {})) as texts:
                    async for text in texts:
                        shown.append(text)
                        if leave(shown):
                            break
            except UpstreamError as error:
                caught.append(error)
            assert not llm.open, "the connection is closed where it is left, not when the garbage is collected"
            return draft, shown

        draft, shown = run(work)
        return draft, shown, caught[0] if caught else None

    def test_leaving_closes_the_models_connection_at_once(self) -> None:
        llm = FakeLlm(["one ", "two ", "three"])
        draft, shown, _ = self.interrupted(llm, lambda shown: True, groundedness_policy="flag")
        assert (shown, draft.text) == (["one "], "one ")
        assert (llm.open, llm.closed, llm.reached) == (False, 1, 0)
        assert draft.original_text is None, "everything that the model said was shown"

    def test_a_model_that_breaks_off_raises_after_what_it_said(self) -> None:
        llm = FakeLlm(["one ", "two ", BROKEN, "never"])
        draft, shown, error = self.interrupted(llm, lambda shown: False, groundedness_policy="flag")
        assert (shown, error) == (["one ", "two "], BROKEN)
        assert (draft.text, llm.open) == ("one two ", False)

    def test_what_was_held_back_when_it_broke_off_is_not_lost(self) -> None:
        llm = FakeLlm([*words(INVENTED), BROKEN])
        draft, shown, error = self.interrupted(llm, lambda shown: False)
        assert (shown, error) == ([], BROKEN)
        assert (draft.text, draft.original_text, draft.citations) == ("", INVENTED, [])

    def test_cancelling_while_the_model_is_silent_closes_its_connection(self) -> None:
        llm = FakeLlm(["one ", "two"])

        async def work() -> None:
            llm.hold[1] = asyncio.Event()
            made = answerer(llm, groundedness_policy="flag")
            draft = await made.prepare("l", CONVERSATION, evidence(), None)
            begun = asyncio.Event()

            async def read() -> None:
                async with aclosing(made.stream(draft, {})) as texts:
                    async for _ in texts:
                        begun.set()

            task = asyncio.create_task(read())
            await begun.wait()
            assert llm.open
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not llm.open
            assert draft.text == "one "

        run(work)


def test_only_waiting_for_the_model_is_timed_as_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that takes its time between two reads is not the model's slowness."""
    clock = {"now": 0.0}
    monkeypatch.setattr("steelyard_runtime.context.time.perf_counter", lambda: clock["now"])
    llm = FakeLlm(["one ", "two ", "three"])

    async def work() -> dict[str, float]:
        made = answerer(llm, groundedness_policy="flag")
        draft = await made.prepare("l", CONVERSATION, evidence(), None)
        async for _ in made.stream(draft, {}):
            clock["now"] += 100.0
        return context.current().timings_ms

    timings = run(work)
    assert timings["llm"] == 0.0
    assert timings["grounding"] == 0.0
