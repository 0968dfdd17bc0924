"""A model server's chat template, learned from one example."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

Messages = Sequence[Mapping[str, str]]

_ROLES = ("system", "user")
_MARKS = (" \n<one-7f3a> \n", " \n<two-7f3a> \n")
"""With white space around them, so that a template that trims its messages is seen to do so."""


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """What a server writes before, between and after a system and a user message; None if it changes what it is given.

    Only prompts of these two messages are covered. Templates treat the turns of an assistant in ways that depend on
    what they say, and the first words of our own system and user message are ours.
    """

    parts: tuple[str, str, str] | None

    PROBE: ClassVar[Messages] = tuple(
        {"role": role, "content": mark} for role, mark in zip(_ROLES, _MARKS, strict=True)
    )

    @staticmethod
    def covers(messages: Messages) -> bool:
        """Whether the template of these messages can be learned."""
        return tuple(message["role"] for message in messages) == _ROLES

    @classmethod
    def learned(cls, prompt: str) -> "ChatTemplate":
        """The template that made `prompt` of PROBE."""
        before, first, rest = prompt.partition(_MARKS[0])
        between, second, after = rest.partition(_MARKS[1])
        if not first or not second or any(mark.strip() in before + between + after for mark in _MARKS):
            return cls(None)
        return cls((before, between, after))

    def write(self, messages: Messages) -> str | None:
        """The prompt of `messages`, or None when the server has to be asked for it."""
        if self.parts is None:
            return None
        before, between, after = self.parts
        system, user = (message["content"] for message in messages)
        return f"{before}{system}{between}{user}{after}"
