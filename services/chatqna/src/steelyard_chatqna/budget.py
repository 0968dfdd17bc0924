"""The token budget: what the window of the served model is spent on, counted in that model's own tokens."""

from dataclasses import dataclass, replace

from steelyard_contracts.answers import Budget
from steelyard_contracts.enums import CitationMode, Reason
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.ledger import drop_order

from .conversation import Conversation
from .llm.tokens import TokenCounter
from .pipeline.evidence import Evidence
from .prompt import build_messages


@dataclass(frozen=True, slots=True)
class Fitted:
    """Evidence that fits, the messages that carry it, and the statement of the budget."""

    evidence: Evidence
    messages: list[dict[str, str]]
    budget: Budget


async def fit(
    conversation: Conversation,
    evidence: Evidence,
    mode: CitationMode,
    counter: TokenCounter,
    *,
    window: int,
    reserved: int,
) -> Fitted:
    """Drop evidence, lowest value first, until prompt and reserved answer fit into `window` tokens.

    The parts of the statement are differences between counts of whole prompts, so they add up exactly. Raises
    `context_length_exceeded` when the question does not fit even without evidence.
    """
    bare = await counter.count(build_messages(conversation, [], mode))
    if bare + reserved > window:
        raise SteelyardError(
            ErrorCode.CONTEXT_LENGTH_EXCEEDED,
            f"the conversation has {bare} tokens and {reserved} are reserved for the answer; the window has {window}",
        )
    while True:
        messages = build_messages(conversation, evidence.selected, mode)
        total = await counter.count(messages) if evidence.selected else bare
        if total + reserved <= window:
            break
        evidence = evidence.dropping(frozenset({_least_valuable(evidence)}), Reason.OVER_CONTEXT_BUDGET)
    budget = await _statement(conversation, mode, counter, bare, total, window, reserved)
    return Fitted(evidence, messages, budget)


async def _statement(
    conversation: Conversation,
    mode: CitationMode,
    counter: TokenCounter,
    bare: int,
    total: int,
    window: int,
    reserved: int,
) -> Budget:
    """What the window is spent on: the prompt grows from the instructions over history and question to the evidence.

    A template or tokenizer may make a longer prompt shorter by a token; such a part counts as 0, and the sum stays.
    """
    silent = Conversation(conversation.system, (), "")
    instructions = await counter.count(build_messages(silent, [], mode))
    spoken = instructions
    if conversation.history:
        spoken = await counter.count(build_messages(replace(silent, history=conversation.history), [], mode))
    bare = min(bare, total)
    spoken = min(spoken, bare)
    instructions = min(instructions, spoken)
    return Budget(
        window=window,
        system=instructions,
        history=spoken - instructions,
        question=bare - spoken,
        evidence=total - bare,
        reserved=reserved,
        unused=window - total - reserved,
        tokenizer=counter.name,
    )


def _least_valuable(evidence: Evidence) -> str:
    leaving = {
        entry.chunk_id: drop_order(entry.value.value if entry.value else None, entry.rank)
        for entry in evidence.entries
        if entry.rank is not None
    }
    return min(leaving, key=leaving.__getitem__)
