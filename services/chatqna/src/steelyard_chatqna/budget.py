"""The token budget: what the window of the served model is spent on, counted in that model's own tokens."""

from dataclasses import dataclass, replace

from steelyard_contracts.answers import Budget
from steelyard_contracts.enums import CitationMode, Reason
from steelyard_contracts.errors import ErrorCode, SteelyardError

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
    system, history = await _fixed_parts(conversation, mode, counter, bare)
    budget = Budget(
        window=window,
        system=system,
        history=history,
        question=bare - system - history,
        evidence=total - bare,
        reserved=reserved,
        unused=window - total - reserved,
        tokenizer=counter.name,
    )
    return Fitted(evidence, messages, budget)


async def _fixed_parts(
    conversation: Conversation, mode: CitationMode, counter: TokenCounter, bare: int
) -> tuple[int, int]:
    """Tokens of the instructions and of the history: the whole without the question's text, with and without turns."""
    silent = Conversation(conversation.system, (), "")
    system = min(await counter.count(build_messages(silent, [], mode)), bare)
    if not conversation.history:
        return system, 0
    with_history = await counter.count(build_messages(replace(silent, history=conversation.history), [], mode))
    return system, with_history - system


def _least_valuable(evidence: Evidence) -> str:
    """The selected chunk with the lowest adaptive value, or the last in rank where no value was computed."""
    sent = [entry for entry in evidence.entries if entry.rank is not None]
    return min(sent, key=lambda entry: (entry.value.value if entry.value else 0.0, -(entry.rank or 0))).chunk_id
