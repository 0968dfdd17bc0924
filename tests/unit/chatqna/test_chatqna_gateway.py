"""One request from its body to its events and its ledger, whatever happens on the way."""

import asyncio
import threading
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from steelyard_chatqna.gateway import Gateway
from steelyard_chatqna.ledger_store import LedgerStore, LedgerStoreError
from steelyard_contracts.answers import Answered, Ledger
from steelyard_contracts.chat import InspectRequest
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_contracts.ledger import totals
from steelyard_runtime import context

from .fakes import QUESTION, SEAL, FakeLlm, words
from .gateway_bench import Bench, chat, completed, streamed, values

BROKEN = UpstreamError(ErrorCode.UPSTREAM_BAD_REPLY, "the stream broke", stage=Stage.LLM)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class TestAnswers:
    def test_an_answer_in_one_piece_names_a_ledger_that_can_be_read_again(self, bench: Bench) -> None:
        async def work(gateway: Gateway) -> tuple[dict[str, Any], Ledger]:
            body = await completed(gateway)
            return body, await gateway.ledger(body["steelyard"]["ledger_id"])

        body, ledger = bench.use(work)
        assert body["choices"][0]["message"]["content"] == SEAL
        extension = Answered.model_validate(body["steelyard"])
        assert ledger.answer == SEAL
        assert (ledger.totals, ledger.citations) == (extension.totals, extension.citations)
        assert ledger.totals == totals(ledger.entries)
        assert body["id"] == f"chatcmpl-{extension.ledger_id}"
        assert set(ledger.timings_ms) == {"embedding", "retriever", "reranker", "budget", "llm", "grounding"}

    def test_a_stream_says_the_same(self, bench: Bench) -> None:
        bench.settings["groundedness_policy"] = "flag"
        items = bench.use(streamed)
        *chunks, done = values(items)
        assert done == "[DONE]"
        assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
        assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == SEAL
        assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
        assert chunks[-1]["steelyard"]["ledger_id"] == bench.ledgers()[0].ledger_id
        assert all("steelyard" not in chunk for chunk in chunks[:-1])

    def test_what_one_read_brings_leaves_in_one_write_and_the_role_with_the_first(self, bench: Bench) -> None:
        bench.settings["groundedness_policy"] = "flag"
        bench.llm.pieces = ["one ", "two"]
        items = bench.use(streamed)
        assert [len(values([item])) for item in items] == [2, 1, 2]

    def test_usage_comes_last_on_request(self, bench: Bench) -> None:
        items = bench.use(lambda gateway: streamed(gateway, chat(stream_options={"include_usage": True})))
        *before, finish, usage, done = values(items)
        assert finish["choices"][0]["finish_reason"] == "stop"
        assert [chunk["usage"] for chunk in (*before, finish)] == [None] * (len(before) + 1)
        assert (usage["choices"], done) == ([], "[DONE]")
        assert "usage" in usage
        assert "steelyard" in usage

    def test_an_empty_answer_is_a_whole_stream_that_says_so(self, bench: Bench) -> None:
        bench.llm.pieces = []
        bench.settings["no_evidence_answer"] = "None."
        *chunks, done = values(bench.use(streamed))
        assert done == "[DONE]"
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        assert deltas == [{"role": "assistant", "content": ""}, {"content": "None."}, {}]
        assert chunks[-1]["steelyard"]["abstained"] == "empty_answer"

    def test_the_models_name_is_the_one_that_answers(self, bench: Bench) -> None:
        assert bench.use(lambda gateway: completed(gateway, chat(model="gpt-4o")))["model"].startswith("qwen")
        bench.settings["llm_backend"] = "extractive"
        assert bench.use(completed)["model"] == "extractive"


class TestQuestionsAfterOthers:
    TURNS = (
        {"role": "user", "content": "Which pump has a cover?"},
        {"role": "assistant", "content": "AX-104-B."},
        {"role": "user", "content": "Which seal is approved for it?"},
    )
    ALONE = "Which seal is approved for AX-104-B?"

    def searched(self, bench: Bench) -> list[str]:
        neighbours = bench.neighbours
        return [
            neighbours.embedding.asked[0][1]["input"],
            neighbours.retriever.asked[0][1]["text"],
            neighbours.reranker.asked[0][1]["initial_query"],
        ]

    def test_evidence_is_sought_for_the_last_question(self, bench: Bench) -> None:
        body = bench.use(lambda gateway: completed(gateway, chat(messages=self.TURNS)))
        assert self.searched(bench) == ["Which seal is approved for it?"] * 3
        assert "retrieval_query" not in body["steelyard"]
        assert bench.ledgers()[0].retrieval_query is None

    def test_or_for_what_the_model_says_that_it_means_while_it_is_answered_as_it_stands(self, bench: Bench) -> None:
        bench.condensing = FakeLlm(words(self.ALONE))
        body = bench.use(lambda gateway: completed(gateway, chat(messages=self.TURNS)))
        assert self.searched(bench) == [self.ALONE] * 3
        assert body["steelyard"]["retrieval_query"] == self.ALONE
        assert body["steelyard"]["outcome"] == "ok"
        (ledger,) = bench.ledgers()
        assert (ledger.question, ledger.retrieval_query) == ("Which seal is approved for it?", self.ALONE)
        messages = bench.llm.asked[0][0]
        assert [message["content"] for message in messages[1:3]] == ["Which pump has a cover?", "AX-104-B."]
        assert messages[3]["content"].endswith("Question: Which seal is approved for it?")

    def test_an_inspection_finds_what_an_answer_would(self, bench: Bench) -> None:
        bench.condensing = FakeLlm(words(self.ALONE))
        asked = InspectRequest.model_validate({"messages": list(self.TURNS)})
        assert bench.use(lambda gateway: gateway.inspect(asked)).retrieval_query == self.ALONE
        assert self.searched(bench) == [self.ALONE] * 3

    def test_a_model_that_fails_at_it_degrades_the_answer(self, bench: Bench) -> None:
        bench.condensing = FakeLlm([BROKEN])
        body = bench.use(lambda gateway: completed(gateway, chat(messages=self.TURNS)))
        assert body["choices"][0]["message"]["content"] == SEAL
        assert body["steelyard"]["outcome"] == "degraded"
        assert [one["stage"] for one in body["steelyard"]["degraded"]] == ["llm"]
        assert self.searched(bench) == ["Which seal is approved for it?"] * 3

    def test_the_privacy_switch_keeps_it_out_of_the_ledger(self, bench: Bench) -> None:
        bench.condensing = FakeLlm(words(self.ALONE))
        bench.settings["ledger_texts"] = False
        bench.use(lambda gateway: completed(gateway, chat(messages=self.TURNS)))
        assert bench.ledgers()[0].retrieval_query is None


class TestLedgers:
    def test_inspecting_asks_no_model_and_keeps_a_ledger(self, bench: Bench) -> None:
        ledger = bench.use(lambda gateway: gateway.inspect(InspectRequest(messages=QUESTION)))
        assert bench.llm.asked == []
        assert bench.ledgers() == [ledger]
        assert (ledger.answer, ledger.outcome) == (None, "ok")

    def test_an_unknown_ledger_is_not_found(self, bench: Bench) -> None:
        with pytest.raises(SteelyardError) as error:
            bench.use(lambda gateway: gateway.ledger("none"))
        assert error.value.code is ErrorCode.NOT_FOUND

    def test_texts_are_kept_out_on_request_and_still_answered_with(self, bench: Bench) -> None:
        bench.settings["ledger_texts"] = False
        body = bench.use(completed)
        assert body["steelyard"]["citations"][0]["quote"] == SEAL
        assert SEAL not in bench.ledgers()[0].model_dump_json()

    def test_no_days_name_no_ledger(self, bench: Bench) -> None:
        bench.settings["ledger_days"] = 0
        body = bench.use(completed)
        assert "ledger_id" not in body["steelyard"]
        assert (body["steelyard"]["outcome"], bench.ledgers()) == ("ok", [])

    def test_a_ledger_that_can_not_be_kept_does_not_take_the_answer_with_it_and_is_told(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(_store: LedgerStore, _ledgers: object) -> bool:
            raise LedgerStoreError("the disk is full")

        monkeypatch.setattr(LedgerStore, "put_all", full)
        body = bench.use(completed)
        assert body["choices"][0]["message"]["content"] == SEAL
        extension = Answered.model_validate(body["steelyard"])
        assert (extension.outcome, extension.ledger_id) == ("degraded", None)
        assert [(one.stage, one.reason) for one in extension.degraded] == [("gateway", "ledger_not_kept")]
        *chunks, done = values(bench.use(streamed))
        assert (done, chunks[-1]["steelyard"]["outcome"]) == ("[DONE]", "degraded")
        ledger = bench.use(lambda gateway: gateway.inspect(InspectRequest(messages=QUESTION)))
        assert (ledger.outcome, ledger.degraded[0].reason) == ("degraded", "ledger_not_kept")

    def test_a_store_that_hangs_does_not_take_the_answer_beyond_its_deadline(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        go, put_all = threading.Event(), LedgerStore.put_all

        def held(store: LedgerStore, ledgers: Sequence[Ledger]) -> list[bool]:
            go.wait(20)
            return put_all(store, ledgers)

        monkeypatch.setattr(LedgerStore, "put_all", held)

        async def work(gateway: Gateway) -> dict[str, Any]:
            body = await completed(gateway)
            assert context.current().remaining_s() > 0
            go.set()
            return body

        body = bench.use(work, deadline_s=8.0)
        assert body["choices"][0]["message"]["content"] == SEAL
        assert "ledger_id" not in body["steelyard"]
        assert [one["reason"] for one in body["steelyard"]["degraded"]] == ["ledger_not_kept"]
        assert [ledger.answer for ledger in bench.ledgers()] == [SEAL], "kept all the same, once that could be done"

    def test_a_store_that_can_not_be_read_is_an_error_and_not_not_found(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(_store: LedgerStore, _ledger_id: str) -> None:
            raise LedgerStoreError("damaged")

        monkeypatch.setattr(LedgerStore, "get", broken)
        with pytest.raises(LedgerStoreError):
            bench.use(lambda gateway: gateway.ledger("one"))


class TestBreakingOff:
    """An answer that breaks off was asked, found and paid for: its ledger is kept, and says that it is not whole."""

    def test_a_model_that_fails_before_its_first_word(self, bench: Bench) -> None:
        bench.llm.pieces = [BROKEN]
        for work in (completed, streamed):
            with pytest.raises(UpstreamError, match="the stream broke"):
                bench.use(work)
        for ledger in bench.ledgers():
            assert (ledger.answer, ledger.outcome) == ("", "degraded")
            assert [(one.stage, one.reason) for one in ledger.degraded] == [("llm", "upstream_bad_reply")]
            assert ledger.totals.sent == 2
        assert len(bench.ledgers()) == 2

    def test_a_model_that_fails_in_the_middle(self, bench: Bench) -> None:
        bench.settings["groundedness_policy"] = "flag"
        bench.llm.pieces = ["one ", "two ", BROKEN]
        with pytest.raises(UpstreamError):
            bench.use(streamed)
        [ledger] = bench.ledgers()
        assert (ledger.answer, ledger.original_answer) == ("one two ", None)

    def test_what_was_held_back_is_in_the_ledger(self, bench: Bench) -> None:
        bench.llm.pieces = ["The pump is black. ", BROKEN]
        with pytest.raises(UpstreamError):
            bench.use(streamed)
        [ledger] = bench.ledgers()
        assert (ledger.answer, ledger.original_answer) == ("", "The pump is black. ")

    def test_a_model_that_fails_while_it_thinks(self, bench: Bench) -> None:
        bench.settings["groundedness_policy"] = "flag"
        bench.llm.pieces = ["<think>", "The pump ", BROKEN]
        with pytest.raises(UpstreamError, match="the stream broke"):
            bench.use(streamed)
        [ledger] = bench.ledgers()
        assert (ledger.answer, ledger.original_answer, ledger.abstained) == ("", "<think>The pump ", None)

    def test_a_defect_is_named_by_its_kind_and_never_by_its_words(self, bench: Bench) -> None:
        bench.llm.pieces = [ValueError("CANARY")]
        with pytest.raises(ValueError, match="CANARY"):
            bench.use(completed)
        [ledger] = bench.ledgers()
        assert [(one.reason, one.detail) for one in ledger.degraded] == [("internal", "ValueError")]

    def left(self, bench: Bench, leave: str, deadline_s: float = 20.0) -> Ledger:
        """Leave after the first words, in one of the ways in which a client can."""
        bench.settings["groundedness_policy"] = "flag"
        bench.llm.pieces = ["one ", "two ", "three"]

        async def work(gateway: Gateway) -> None:
            bench.llm.hold[1] = asyncio.Event()
            begun = asyncio.Event()

            async def read() -> None:
                try:
                    async with aclosing(gateway.events(chat(stream=True))) as events:
                        async for _ in events:
                            begun.set()
                            if leave == "stops reading":
                                break
                finally:
                    assert not bench.llm.open, "the model still works for nobody"
                    assert len(bench.ledgers()) == 1, "the ledger is kept before anything else goes on"

            task = asyncio.create_task(read())
            await begun.wait()
            if leave == "is cancelled":
                task.cancel()
            [ended] = await asyncio.gather(task, return_exceptions=True)
            assert ended is None or isinstance(ended, asyncio.CancelledError), ended

        bench.use(work, deadline_s)
        [ledger] = bench.ledgers()
        return ledger

    @pytest.mark.parametrize("leave", ["stops reading", "is cancelled"])
    def test_a_client_that_leaves_stops_the_model_and_the_ledger_says_so(self, bench: Bench, leave: str) -> None:
        ledger = self.left(bench, leave)
        assert (ledger.answer, ledger.outcome) == ("one ", "degraded")
        assert [(one.stage, one.reason) for one in ledger.degraded] == [("gateway", "client_left")]

    def test_a_deadline_that_has_passed_is_not_called_a_client_that_left(self, bench: Bench) -> None:
        ledger = self.left(bench, "is cancelled", deadline_s=-1.0)
        assert [one.reason for one in ledger.degraded] == ["deadline_exceeded"]

    def test_a_ledger_that_can_not_be_kept_then_does_not_hide_what_happened(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(_store: LedgerStore, _ledgers: object) -> bool:
            raise LedgerStoreError("the disk is full")

        monkeypatch.setattr(LedgerStore, "put_all", full)
        bench.llm.pieces = [BROKEN]
        with pytest.raises(UpstreamError, match="the stream broke"):
            bench.use(completed)

    def test_nothing_is_kept_of_a_request_that_found_nothing_out(self, bench: Bench) -> None:
        bench.neighbours.embedding.answer = lambda body: UpstreamError(ErrorCode.UPSTREAM_UNREACHABLE, "down")
        with pytest.raises(UpstreamError):
            bench.use(completed)
        assert bench.ledgers() == []
