"""A chat request taken apart: the instructions, the earlier turns, and the question that evidence is sought for."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard_contracts.chat import Message
from steelyard_contracts.errors import ErrorCode, SteelyardError


@dataclass(frozen=True, slots=True)
class Conversation:
    """`system` are the caller's instructions, `history` the turns before the question, oldest first."""

    system: str
    history: tuple[Message, ...]
    question: str

    @classmethod
    def of(cls, messages: str | Sequence[Message]) -> "Conversation":
        """Take the last user turn as the question; raises `invalid_request` when there is none or it is blank."""
        turns = [Message(role="user", content=messages)] if isinstance(messages, str) else list(messages)
        system = "\n".join(turn.text for turn in turns if turn.role in ("system", "developer"))
        spoken = [turn for turn in turns if turn.role not in ("system", "developer")]
        if not spoken or spoken[-1].role != "user":
            raise SteelyardError(ErrorCode.INVALID_REQUEST, "messages: the last turn should be the user's question")
        question = spoken[-1].text
        if not question.strip():
            raise SteelyardError(ErrorCode.INVALID_REQUEST, "messages: the question is blank")
        return cls(system, tuple(spoken[:-1]), question)
