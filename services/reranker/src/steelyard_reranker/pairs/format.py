"""How a reranker puts a query and a text into its input. Counts and cuts follow the production formatting exactly."""

from typing import Protocol

from steelyard_models.tokenizer import TextTokenizer


class Spans(Protocol):
    """The half-open code-point spans of a text's tokens, in order."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> tuple[int, int]: ...


class PairFormat(Protocol):
    """A model's input format with the model's own tokenizer.

    `limit` is the longest pair that the model reads, in tokens, special tokens included. The tokens of a pair are those
    that the model reads of it in all: of a cross-encoder its one input, of late interaction both readings together,
    each of which has a limit of its own.
    """

    limit: int

    def query_tokens(self, query: str) -> int:
        """Tokens that the query takes in a pair."""

    def room(self, query_tokens: int, limit: int) -> int:
        """Tokens that a pair of at most `limit` has for the text; negative when the query alone does not fit."""

    def text_tokens(self, text: str) -> int:
        """How many tokens of its own the text has in a pair: as many as `spans`, for a third of the time."""

    def spans(self, text: str) -> Spans:
        """Where the text's own tokens stand, as they are in a pair."""

    def pair_tokens(self, query_tokens: int, text_tokens: int) -> int:
        """Tokens of the whole pair, special tokens included."""


class LateInteractionFormat:
    """Query and text are read apart by one encoder that reads at most `reading_limit` tokens at once."""

    def __init__(self, tokenizer: TextTokenizer, reading_limit: int) -> None:
        self.limit = 2 * reading_limit
        self._reading_limit = reading_limit
        self._tokenizer = tokenizer
        self._special = tokenizer.special_tokens

    def query_tokens(self, query: str) -> int:
        """See PairFormat; the query's special tokens are its own."""
        return self._tokenizer.count(query, special=True)

    def room(self, query_tokens: int, limit: int) -> int:
        """See PairFormat."""
        if query_tokens > self._reading_limit:
            return self._reading_limit - query_tokens
        return min(self._reading_limit, limit - query_tokens) - self._special

    def text_tokens(self, text: str) -> int:
        """See PairFormat."""
        return self._tokenizer.count(text)

    def spans(self, text: str) -> Spans:
        """See PairFormat."""
        return self._tokenizer.spans(text)

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

    def room(self, query_tokens: int, limit: int) -> int:
        """See PairFormat."""
        return limit - query_tokens - self._special

    def text_tokens(self, text: str) -> int:
        """See PairFormat."""
        return self._tokenizer.count(text)

    def spans(self, text: str) -> Spans:
        """See PairFormat."""
        return self._tokenizer.spans(text)

    def pair_tokens(self, query_tokens: int, text_tokens: int) -> int:
        """See PairFormat."""
        return query_tokens + text_tokens + self._special
