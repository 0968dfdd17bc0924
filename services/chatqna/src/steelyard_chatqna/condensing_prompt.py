"""How the model is asked to write out a question; with examples, without which a small model answers it instead."""

from collections.abc import Sequence

from steelyard_contracts.chat import Message

from .inert import inert

_INSTRUCTIONS = (
    "Rewrite the last question of a conversation so that it can be understood without the conversation: put in the"
    " names that it refers to. Keep all that it says, and its language. Reply with the rewritten question only."
)
_EXAMPLES = (
    (
        (("user", "When does the library open on weekdays?"), ("assistant", "At nine.")),
        "And on Sundays?",
        "When does the library open on Sundays?",
    ),
    (
        (("user", "Wer hat die Brücke gebaut?"), ("assistant", "Die Firma Holm.")),
        "In welchem Jahr?",
        "In welchem Jahr hat die Firma Holm die Brücke gebaut?",
    ),
    (
        (("user", "Who wrote the report on noise?"), ("assistant", "Ms Okafor.")),
        "How many parking lots are there?",
        "How many parking lots are there?",
    ),
)


def build_condensing_messages(turns: Sequence[Message], question: str) -> list[dict[str, str]]:
    """The chat messages that ask what `question` means after `turns`, which are in order."""
    messages = [{"role": "system", "content": _INSTRUCTIONS}]
    for said, asked, rewritten in _EXAMPLES:
        messages += [
            {"role": "user", "content": _task(said, asked)},
            {"role": "assistant", "content": rewritten},
        ]
    return [*messages, {"role": "user", "content": _task([(turn.role, turn.text) for turn in turns], question)}]


def _task(turns: Sequence[tuple[str, str]], question: str) -> str:
    said = "\n".join(f"{role}: {inert(text)}" for role, text in turns)
    return f"Conversation:\n{said}\n\nLast question: {inert(question)}"
