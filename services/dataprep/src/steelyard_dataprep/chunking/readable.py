"""Words that a tokenizer takes for one unknown token, so that a vector says nothing of them."""

from __future__ import annotations

import regex

from steelyard_dataprep.chunking.counter import TokenCounter

_LONGEST_READ = 100
"""WordPiece reads no longer word; byte-level tokenizers read any, as many tokens."""
# What stands between punctuation and white space, where tokenizers part words.
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]++")


def has_unread_word(text: str, count_tokens: TokenCounter) -> bool:
    """Whether a word of `text` has fewer tokens than one for each 100 characters.

    Scripts without spaces have such words too: Thai is not parted before it is tokenized, as Chinese is.
    """
    return any(
        len(word[0]) > _LONGEST_READ * count_tokens(word[0])
        for piece in text.split()
        if len(piece) > _LONGEST_READ
        for word in _WORD.finditer(piece)
    )
