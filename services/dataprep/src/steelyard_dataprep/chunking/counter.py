"""Token counting with a model's own tokenizer."""

from __future__ import annotations

from collections.abc import Callable

from tokenizers import Tokenizer

TokenCounter = Callable[[str], int]


def token_counter(tokenizer: Tokenizer) -> TokenCounter:
    """Return a counter of content tokens, without the special tokens that the model adds to every input.

    The limit to chunk with is therefore the model's window less its special tokens. The tokenizer is copied,
    since published ones may have truncation and padding baked in, which would make every long text look short.
    """
    own = Tokenizer.from_str(tokenizer.to_str())
    own.no_truncation()
    own.no_padding()

    def count(text: str) -> int:
        return len(own.encode(text, add_special_tokens=False).ids)

    return count
