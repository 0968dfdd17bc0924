"""A replay with the recorded settings is the record, byte for byte; with others, what selection would have said."""

import json
import random
from dataclasses import asdict
from typing import Any

import orjson
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from steelyard_chatqna import ledgers, replay
from steelyard_chatqna.pipeline.evidence import Chunk, Evidence
from steelyard_contracts.answers import Ledger
from steelyard_contracts.documents import CandidateMetadata
from steelyard_contracts.enums import Fate, Outcome, Reason, ScoreKind, Strategy
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.ledger import totals
from steelyard_contracts.replay import Replay, ReplayRequest
from steelyard_contracts.reranking import RerankingResponse
from steelyard_contracts.selection import SelectRequest, SelectResponse
from steelyard_contracts.vectors import Vector
from steelyard_reranker import select_request
from steelyard_reranker.selection import SelectionSettings
from tests.unit.reranker.fake_backend import Bench, FakeBackend, request

from .fakes import ask, evidence, run

WORDS = ("seal", "SEAL", "torque", "grease", "ﬁlter", "filter", " ", "", "10⁵", "105")


def selected(asked: dict[str, Any]) -> SelectResponse:
    """The reranker's own route, with the JSON of both ways in between and defaults that must not matter."""
    body = SelectRequest.model_validate(orjson.loads(orjson.dumps(asked)))
    other = SelectionSettings(token_cost_alpha=0.5, min_value_threshold=7.0, top_n=1, threshold=1.0)
    return SelectResponse.model_validate_json(select_request.run(body, other).model_dump_json())


def replayed(ledger: Ledger, **changes: Any) -> Replay:
    asked = ReplayRequest.model_validate({"ledger_id": "l", **changes})
    strategy, effective = replay.effective(ledger, asked)
    sent = replay.align_inputs(ledger, strategy, effective)
    return replay.align_outputs(ledger, strategy, effective, None if sent is None else selected(sent))


class Pipeline:
    """One random request through the real reranker, recorded as the gateway records it."""

    def __init__(self, seed: int, strategy: Strategy) -> None:
        self.random = random.Random(seed)
        self.strategy = strategy
        ids = [f"chunk-{number}" for number in range(self.random.randint(1, 14))]
        self.random.shuffle(ids)
        self.texts = {chunk_id: self._text() for chunk_id in ids}
        self.cosines = {chunk_id: self.random.random() for chunk_id in ids}
        self.query, *rows = [self._vector() for _ in range(len(ids) + 1)]
        self.vectors = dict(zip(ids, rows, strict=True))
        # Few different scores, so that ties are common.
        self.scores = {text: self.random.choice([0.0, 0.31, 0.5, 0.5, 0.95, self.random.random()]) for text in
                       self.texts.values()}  # fmt: skip
        self.settings: dict[str, Any] = {
            "retrieval_min_chunk_score": self.random.choice([None, 0.2]),
            "rerank_max_chars_per_doc": self.random.choice([0, 0, 2]),
            "adaptive_floor_score": self.random.choice([None, 0.0, 0.5]),
            "min_value_threshold": self.random.choice([-1.0, -0.1, 0.3, 5.0]),
            "confusion_cost_weight": self.random.choice([0.0, 0.25, 1.0]),
            "token_cost_alpha": self.random.choice([0.0, 0.0025, 0.1]),
            "reranker_top_n": self.random.randint(1, 5),
            "reranking_threshold": self.random.choice([0.0, 0.5, 0.9]),
        }

    def ledger(self, *, later: bool = False) -> Ledger:
        """The ledger as it comes back from the store; with `later`, the window had no room for one that was kept."""

        async def record() -> Ledger:
            reply = await Bench(settings=self.settings, backend=FakeBackend(self.scores)).rerank_soon(self._request())
            found = self._evidence(reply)
            if later and found.selected:
                victims = self.random.sample([one.chunk_id for one in found.selected], 1)
                reason = self.random.choice([Reason.OVER_CONTEXT_BUDGET, Reason.BELOW_THRESHOLD])
                found = found.dropping(frozenset(victims), reason)
            return ledgers.of_evidence("l", found)

        made = run(record)
        return Ledger.model_validate(orjson.loads(orjson.dumps(made.model_dump(mode="json", exclude_none=True))))

    def _request(self) -> Any:
        adaptive = self.strategy is Strategy.ADAPTIVE
        return request(
            self.texts, self.cosines, dict.fromkeys(self.texts, 3), reranking_strategy=self.strategy,
            **({"embedding": self.query, "chunk_embeddings": self.vectors} if adaptive else {}),
        )  # fmt: skip

    def _evidence(self, reply: RerankingResponse) -> Evidence:
        adaptive = self.strategy is Strategy.ADAPTIVE
        chunks = {
            chunk_id: Chunk(
                chunk_id,
                text,
                CandidateMetadata(
                    chunk_id=chunk_id, document_id=f"d-{chunk_id}", revision="1", source="s", char_start=0,
                    char_end=len(text), scope="public", tokens=3, scores={ScoreKind.COSINE: self.cosines[chunk_id]},
                    chunk_embedding=Vector.from_floats(self.vectors[chunk_id]) if adaptive else None,
                ),
            )
            for chunk_id, text in self.texts.items()
        }  # fmt: skip
        return Evidence(
            ask=ask("q", reranking_strategy=self.strategy),
            query=Vector.from_floats(self.query),
            candidates=tuple(chunks.values()),
            selected=tuple(chunks[doc.id] for doc in reply.reranked_docs),
            entries=tuple(reply.ledger),
            score_kind=reply.score_kind,
            degraded=(),
            policy_hash="p",
            selection_settings=RerankingResponse.model_validate_json(reply.model_dump_json()).settings,
        )

    def _text(self) -> str:
        return " ".join(self.random.choice(WORDS) for _ in range(self.random.randint(1, 2)))

    def _vector(self) -> list[float]:
        return [self.random.gauss(0.0, 1.0) for _ in range(6)]


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**9), strategy=st.sampled_from(Strategy), later=st.booleans())
def test_the_recorded_settings_give_the_record_byte_for_byte(seed: int, strategy: Strategy, later: bool) -> None:
    ledger = Pipeline(seed, strategy).ledger(later=later)
    assume(ledger.score_kind is ScoreKind.RERANK)  # where no candidate could be scored, there is nothing to replay
    again = replayed(ledger)
    assert [entry.model_dump_json() for entry in again.entries] == [one.model_dump_json() for one in ledger.entries]
    assert (again.identical, again.later_drops_applied, again.changes) == (True, True, [])
    assert again.totals == ledger.totals
    assert again.before == again.after


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**9), now=st.sampled_from(Strategy))
def test_other_settings_give_what_the_request_would_have_given(seed: int, now: Strategy) -> None:
    """The same request sent again with these settings is the oracle."""
    first = Pipeline(seed, Strategy.ADAPTIVE)
    changes = {"token_cost_alpha": 0.01, "adaptive_floor_score": 0.3, "min_value_threshold": -0.5}
    second = Pipeline(seed, now)
    second.settings |= {**changes, "reranker_top_n": 2, "reranking_threshold": 0.4}
    recorded = first.ledger()
    assume(recorded.score_kind is ScoreKind.RERANK)
    again = replayed(recorded, strategy=now, top_n=2, threshold=0.4, settings=changes)
    assert [one.model_dump_json() for one in again.entries] == [
        one.model_dump_json() for one in second.ledger().entries
    ]
    assert totals(again.entries) == again.totals


def with_seed(**wanted: Any) -> Ledger:
    """The first random ledger under `adaptive` in which every wanted reason occurs."""
    reasons = set(wanted["reasons"])
    for seed in range(2000):
        ledger = Pipeline(seed, Strategy.ADAPTIVE).ledger()
        if reasons <= {entry.reason for entry in ledger.entries}:
            return ledger
    raise AssertionError(f"no random request has {reasons}")


@pytest.mark.parametrize("reason", [Reason.DUPLICATE, Reason.BLANK_TEXT, Reason.NOT_SCORED, Reason.BELOW_COSINE_FLOOR,
                                    Reason.KEPT_FLOOR])  # fmt: skip
def test_every_reason_of_selection_is_reached_by_the_property(reason: Reason) -> None:
    ledger = with_seed(reasons=[reason])
    assert replayed(ledger).identical


def test_a_duplicate_that_was_forgotten_would_be_noticed() -> None:
    """A planted defect: without the stand-ins of duplicates the replay is another."""
    ledger = with_seed(reasons=[Reason.DUPLICATE])
    strategy, effective = replay.effective(ledger, ReplayRequest(ledger_id="l"))
    sent = replay.align_inputs(ledger, strategy, effective)
    assert sent is not None
    for number, candidate in enumerate(sent["candidates"]):
        candidate["text"] = candidate["text"] and f"other {number}"
    assert not replay.align_outputs(ledger, strategy, effective, selected(sent)).identical


def test_null_switches_the_floor_off_and_absence_does_not() -> None:
    ledger = with_seed(reasons=[Reason.KEPT_FLOOR])
    assert replayed(ledger, settings={}).outcome is Outcome.OK
    off = replayed(ledger, settings={"adaptive_floor_score": None})
    assert (off.outcome, off.settings["adaptive_floor_score"]) == (Outcome.EMPTY, None)
    assert [change.reason_before for change in off.changes] == [Reason.KEPT_FLOOR]


class TestLaterDrops:
    def ledger(self) -> Ledger:
        for seed in range(500):
            ledger = Pipeline(seed, Strategy.ADAPTIVE).ledger(later=True)
            if any(entry.kept_as for entry in ledger.entries) and ledger.totals.sent:
                return ledger
        raise AssertionError("none was dropped later")

    def test_they_are_not_guessed_for_another_selection(self) -> None:
        ledger = self.ledger()
        none = replayed(ledger, settings={"min_value_threshold": 1e6, "adaptive_floor_score": None})
        assert (none.later_drops_applied, none.after.sent) == (False, [])
        every = replayed(ledger, settings={"min_value_threshold": -1e6})
        assert not any(entry.kept_as for entry in every.entries) or every.later_drops_applied
        assert every.totals.sent >= ledger.totals.sent

    def test_what_was_dropped_later_remembers_why_it_had_been_kept(self) -> None:
        (entry,) = [entry for entry in self.ledger().entries if entry.kept_as]
        assert (entry.fate, entry.rank) == (Fate.DROPPED, None)
        assert entry.kept_as in (Reason.SELECTED, Reason.KEPT_FLOOR)


class TestWhatCanNotBeReplayed:
    def refusal(self, ledger: Ledger, **changes: Any) -> str:
        with pytest.raises(SteelyardError) as refused:
            replayed(ledger, **changes)
        assert (refused.value.code, refused.value.status) == (ErrorCode.NOT_REPLAYABLE, 409)
        return refused.value.detail

    def test_a_degraded_ledger_has_no_scores_to_select_by(self) -> None:
        async def degraded() -> Ledger:
            return ledgers.of_evidence("l", evidence(kind=ScoreKind.COSINE))

        ledger = run(degraded).model_copy(update={"settings": asdict(SelectionSettings())})
        assert "the reranker had failed" in self.refusal(ledger)

    def test_adaptive_needs_embeddings_and_the_refusal_says_why_there_are_none(self) -> None:
        other = Pipeline(1, Strategy.SLICE).ledger()
        assert "under strategy slice" in self.refusal(other, strategy="adaptive")
        private = ledgers.without_texts(Pipeline(1, Strategy.ADAPTIVE).ledger())
        assert "LEDGER_TEXTS=false" in self.refusal(private)
        stripped = ledgers.without_vectors(Pipeline(1, Strategy.ADAPTIVE).ledger())
        assert "have no embedding in it" in self.refusal(stripped)

    def test_a_ledger_without_its_settings(self) -> None:
        ledger = Pipeline(1, Strategy.SLICE).ledger()
        ledger.settings.pop("token_cost_alpha")
        assert "does not record token_cost_alpha" in self.refusal(ledger)


@pytest.mark.parametrize("strategy", [one for one in Strategy if one is not Strategy.ADAPTIVE])
@pytest.mark.parametrize("seed", range(5))
def test_without_texts_every_strategy_that_reads_scores_only_is_replayed(seed: int, strategy: Strategy) -> None:
    whole = Pipeline(seed, strategy).ledger()
    bare = ledgers.without_texts(whole)
    assert "embedding" not in json.dumps(bare.model_dump(mode="json", exclude_none=True))
    assert replayed(bare).identical
    adaptive = ledgers.without_texts(Pipeline(seed, Strategy.ADAPTIVE).ledger())
    assert (
        replayed(adaptive, strategy=strategy).entries
        == replayed(Pipeline(seed, Strategy.ADAPTIVE).ledger(), strategy=strategy).entries
    )


def test_an_empty_ledger_stays_one() -> None:
    async def empty() -> Ledger:
        return ledgers.of_evidence("l", evidence((), {}))

    again = replayed(run(empty))
    assert (again.outcome, again.identical, again.entries) == (Outcome.EMPTY, True, [])


def test_a_reply_about_other_candidates_is_refused() -> None:
    ledger = Pipeline(3, Strategy.SLICE).ledger()
    strategy, effective = replay.effective(ledger, ReplayRequest(ledger_id="l"))
    sent = replay.align_inputs(ledger, strategy, effective)
    assert sent is not None
    reply = selected(sent)
    reply.ledger.pop()
    with pytest.raises(SteelyardError, match="other candidates"):
        replay.align_outputs(ledger, strategy, effective, reply)
