"""Counting prompt tokens with the served model's own `tokenizer.json`, for servers that count for nobody."""

from dataclasses import dataclass
from pathlib import Path

from steelyard_models.tokenizer import TextTokenizer
from steelyard_runtime.blocking import Workers

from .chat_template import Render, published_beside
from .template import Messages

ASSUMED_PER_PROMPT = 24
ASSUMED_PER_MESSAGE = 8
"""What a chat template adds at most in tokens, where it is not known: ChatML adds 3 and 5, Llama 3's format 5 and 5."""

_EXACT = "tokenizer.json"
_ASSUMED = f"tokenizer.json, {ASSUMED_PER_PROMPT} + {ASSUMED_PER_MESSAGE} a message assumed for an unknown template"


@dataclass(frozen=True, slots=True)
class LocalTokenizer:
    """The served model's tokenizer, and its chat template where that is known."""

    tokenizer: TextTokenizer
    template: Render | None

    @classmethod
    def load(cls, path: Path) -> "LocalTokenizer":
        """Load a `tokenizer.json`, or that of a folder, and the chat template beside it.

        Raises TokenizerError and TemplateFileError, both of which name the file.
        """
        tokenizer = TextTokenizer(path)
        return cls(tokenizer, published_beside(tokenizer.path))

    def count(self, messages: Messages) -> int:
        """The tokens of the whole prompt; raises `invalid_request` for turns that the template refuses."""
        if self.template is not None:
            # The template writes the special tokens itself.
            return self.tokenizer.count(self.template(messages))
        texts = sum(self.tokenizer.count_many([one["content"] for one in messages]))
        return texts + ASSUMED_PER_PROMPT + ASSUMED_PER_MESSAGE * len(messages)


class LocalCounter:
    """Counts in a thread of `workers`, because a conversation may be megabytes long.

    With the model's chat template beside its tokenizer the count is exact; without it, the template's tokens are
    assumed, and `name` says so.
    """

    def __init__(self, local: LocalTokenizer, workers: Workers) -> None:
        self.exact = local.template is not None
        self.name = _EXACT if self.exact else _ASSUMED
        self._local = local
        self._workers = workers

    async def count(self, messages: Messages) -> int:
        """See TokenCounter; raises `invalid_request` for turns that the template refuses."""
        return await self._workers.run(self._local.count, messages)

    def forget(self) -> None:
        """See TokenCounter; files do not change while the service runs."""
