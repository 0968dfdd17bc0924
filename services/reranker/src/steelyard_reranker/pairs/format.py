"""How a reranker puts a query and a text into its input. Counts and cuts follow the production formatting exactly."""

from typing import Protocol

from steelyard_models.tokenizer import Encoded, TextTokenizer


class PairFormat(Protocol):
    """A model's input format with the model's own tokenizer. `limit` is in tokens, special tokens included."""

    limit: int

    def query_tokens(self, query: str) -> int:
        """Tokens that the query takes in a pair."""

    def room(self, query_tokens: int) -> int:
        """Tokens that are left for the text beside a query of `query_tokens`; negative when the query does not fit."""

    def encode(self, text: str) -> Encoded:
        """The text's own tokens as they stand in a pair, with code-point offsets."""

    def pair_tokens(self, query_tokens: int, text_tokens: int) -> int:
        """Tokens of the whole pair, special tokens included."""


class LateInteractionFormat:
    """Query and text are read apart by one encoder, so each has the whole `limit` to itself."""

    def __init__(self, tokenizer: TextTokenizer, limit: int) -> None:
        self.limit = limit
        self._tokenizer = tokenizer
        self._special = tokenizer.special_tokens

    def query_tokens(self, query: str) -> int:
        """See PairFormat; the query's special tokens are its own."""
        return self._tokenizer.count(query, special=True)

    def room(self, query_tokens: int) -> int:
        """See PairFormat."""
        return -1 if query_tokens > self.limit else self.limit - self._special

    def encode(self, text: str) -> Encoded:
        """See PairFormat."""
        return self._tokenizer.encode(text)

    def pair_tokens(self, query_tokens: int, text_tokens: int) -> int:
        """See PairFormat."""
        return query_tokens + text_tokens + self._special


class CrossEncoderFormat:
    """Query and text are one input of the model, in its own template."""

    def __init__(self, tokenizer: TextTokenizer, limit: int) -> None:
        self.limit = limit
        self._tokenizer = tokenizer
        self._special = tokenizer.pair_special_tokens

    def query_tokens(self, query: str) -> int:
        """See PairFormat; the template's tokens are the pair's, not the query's."""
        return self._tokenizer.count(query)

    def room(self, query_tokens: int) -> int:
        """See PairFormat."""
        return self.limit - query_tokens - self._special

    def encode(self, text: str) -> Encoded:
        """See PairFormat."""
        return self._tokenizer.encode(text)

    def pair_tokens(self, query_tokens: int, text_tokens: int) -> int:
        """See PairFormat."""
        return query_tokens + text_tokens + self._special
