"""The token budget: what is dropped, in which order, and a statement that always adds up."""

import asyncio
import random
from collections.abc import Mapping, Sequence

import pytest

from steelyard_chatqna.budget import Fitted, fit
from steelyard_chatqna.conversation import Conversation
from steelyard_chatqna.pipeline.evidence import Evidence
from steelyard_chatqna.prompt import build_messages
from steelyard_contracts.answers import Budget
from steelyard_contracts.chat import Message
from steelyard_contracts.enums import CitationMode
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.ledger import totals

from .fakes import TEXTS, WordCounter, entry, evidence

CONVERSATION = Conversation("be kind", (Message(role="user", content="one two three"),), "Which seal is approved?")
MODE = CitationMode.ATTRIBUTED


def words_of(conversation: Conversation, found: Evidence) -> int:
    return sum(len(one["content"].split()) for one in build_messages(conversation, found.selected, MODE))


def fitted(
    found: Evidence, window: int, reserved: int = 10, conversation: Conversation = CONVERSATION
) -> tuple[Fitted, WordCounter]:
    counter = WordCounter()
    return asyncio.run(fit(conversation, found, MODE, counter, window=window, reserved=reserved)), counter


def check_sum(budget: Budget) -> None:
    parts = (budget.system, budget.history, budget.question, budget.evidence, budget.reserved, budget.unused)
    assert all(part >= 0 for part in parts)
    assert sum(parts) == budget.window


def test_what_fits_is_kept_and_stated() -> None:
    found = evidence()
    result, _ = fitted(found, window=500)
    assert result.evidence == found
    assert result.messages == build_messages(CONVERSATION, found.selected, MODE)
    budget = result.budget
    check_sum(budget)
    instructions = len(build_messages(Conversation("be kind", (), ""), [], MODE)[0]["content"].split())
    assert (budget.system, budget.history, budget.question) == (instructions + 1, 3, 4)
    assert budget.evidence == words_of(CONVERSATION, found) - words_of(CONVERSATION, evidence(()))
    assert (budget.window, budget.reserved, budget.tokenizer) == (500, 10, "words")


def test_the_window_is_filled_to_the_last_token_and_not_beyond() -> None:
    found = evidence(("a", "b", "c"))
    exact = words_of(CONVERSATION, found) + 10
    result, _ = fitted(found, window=exact)
    assert (len(result.evidence.selected), result.budget.unused) == (3, 0)
    result, _ = fitted(found, window=exact - 1)
    assert len(result.evidence.selected) == 2
    check_sum(result.budget)


@pytest.mark.parametrize("left", [("b", "c"), ("b",), ()])
def test_the_lowest_value_is_dropped_first_whatever_its_rank(left: tuple[str, ...]) -> None:
    entries = [entry("a", 1, value=-0.9), entry("b", 2, value=0.5), entry("c", 3, value=-0.1)]
    found = evidence(("a", "b", "c"), entries=entries)
    result, _ = fitted(found, words_of(CONVERSATION, evidence(left)) + 10)
    assert tuple(chunk.chunk_id for chunk in result.evidence.selected) == left
    dropped = {one.chunk_id for one in result.evidence.entries if one.reason == "over_context_budget"}
    assert dropped == set("abc") - set(left)


def test_without_values_the_last_in_rank_is_dropped_first() -> None:
    found = evidence(("c", "a", "b"))
    window = words_of(CONVERSATION, evidence(("c", "a"))) + 10
    result, _ = fitted(found, window)
    assert [chunk.chunk_id for chunk in result.evidence.selected] == ["c", "a"]


def test_equal_values_go_by_rank() -> None:
    entries = [entry("a", 2, value=0.1), entry("b", 1, value=0.1), entry("c", 3, value=0.1)]
    found = evidence(("b", "a", "c"), entries=entries)
    result, _ = fitted(found, words_of(CONVERSATION, evidence(("b", "a"))) + 10)
    assert [chunk.chunk_id for chunk in result.evidence.selected] == ["b", "a"]


def test_dropping_keeps_the_ledger_whole() -> None:
    found = evidence(("a", "b", "c"))
    result, _ = fitted(found, words_of(CONVERSATION, evidence(())) + 10)
    counted = totals(result.evidence.entries)
    assert (counted.retrieved, counted.sent, counted.dropped) == (3, 0, {"over_context_budget": 3})
    assert result.messages == build_messages(CONVERSATION, [], MODE)
    assert result.budget.evidence == 0


def test_a_conversation_that_does_not_fit_is_refused_after_one_count() -> None:
    counter = WordCounter()
    bare = words_of(CONVERSATION, evidence(()))
    with pytest.raises(SteelyardError, match=f"{bare} tokens and 10 are reserved .* window has {bare + 9}") as error:
        asyncio.run(fit(CONVERSATION, evidence(), MODE, counter, window=bare + 9, reserved=10))
    assert error.value.code is ErrorCode.CONTEXT_LENGTH_EXCEEDED
    assert len(counter.counted) == 1


def test_a_conversation_that_just_fits_is_not_refused() -> None:
    result, _ = fitted(evidence(()), window=words_of(CONVERSATION, evidence(())) + 10)
    assert result.budget.unused == 0


def test_without_history_none_is_counted() -> None:
    result, counter = fitted(evidence(), 500, conversation=Conversation("", (), "q"))
    assert result.budget.history == 0
    assert len(counter.counted) == 3


class _Erratic:
    """A tokenizer whose counts follow no order, as a template that trims could make them."""

    name = "erratic"

    def __init__(self, source: random.Random) -> None:
        self._source = source

    async def count(self, messages: Sequence[Mapping[str, str]]) -> int:
        return self._source.randrange(40, 60)

    def forget(self) -> None:
        """It knows nothing."""


def test_the_parts_add_up_and_are_never_negative_whatever_the_tokenizer_says() -> None:
    source = random.Random(3)
    for _ in range(300):
        result = asyncio.run(fit(CONVERSATION, evidence(tuple(TEXTS)), MODE, _Erratic(source), window=80, reserved=10))
        check_sum(result.budget)
