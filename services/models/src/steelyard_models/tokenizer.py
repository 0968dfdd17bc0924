"""A model's own tokenizer, with nothing cut and nothing padded.

Published `tokenizer.json` files carry truncation and padding from training (128 tokens in MiniLM's); both are switched
off on loading, because a count that stops at 128 would hide every longer text.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Encoding, Tokenizer

from .errors import TokenizerError


@dataclass(frozen=True, slots=True)
class Encoded:
    """Tokens of one text; both tuples have the same length.

    `offsets` are half-open codepoint spans in the text; those of special tokens that the template added are (0, 0).
    """

    tokens: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.tokens)


class TokenSpans:
    """Where the tokens of one text stand: half-open code-point spans, read one by one.

    A list of them all would take seconds for a text of megabytes, in which no other thread runs.
    """

    __slots__ = ("_encoding",)

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding

    def __len__(self) -> int:
        return len(self._encoding)

    def __getitem__(self, index: int, /) -> tuple[int, int]:
        """The span of one token, counted from 0. Raises IndexError."""
        span = self._encoding.token_to_chars(index)
        if span is None:
            raise IndexError(f"token {index} of {len(self._encoding)}")
        return int(span[0]), int(span[1])


class TextTokenizer:
    """Counts and encodes text with the tokenizer of a model. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        """Load `tokenizer.json` from a file or from a folder that has one. Raises `TokenizerError`."""
        self.path = path / "tokenizer.json" if path.is_dir() else path
        try:
            data = self.path.read_bytes()
            self._tokenizer = Tokenizer.from_buffer(data)
        except Exception as error:  # tokenizers raises bare Exception
            raise TokenizerError(f"{self.path}: {error}") from error
        self.sha256 = hashlib.sha256(data).hexdigest()
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    @property
    def special_tokens(self) -> int:
        """How many tokens the model's template adds to one text."""
        return int(self._tokenizer.num_special_tokens_to_add(is_pair=False))

    @property
    def pair_special_tokens(self) -> int:
        """How many tokens the model's template adds to a pair."""
        return int(self._tokenizer.num_special_tokens_to_add(is_pair=True))

    def token_id(self, token: str) -> int | None:
        """Return the id of a vocabulary entry such as `[UNK]`, or None."""
        found = self._tokenizer.token_to_id(token)
        return None if found is None else int(found)

    def count(self, text: str, *, special: bool = False) -> int:
        """Return the number of tokens of `text`; `special` includes those that the template adds."""
        return self.count_many([text], special=special)[0]

    def count_many(self, texts: Sequence[str], *, special: bool = False) -> list[int]:
        """`count` for many texts, in parallel."""
        return [len(e) for e in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=special)]

    def encode(self, text: str, *, special: bool = False) -> Encoded:
        """Return tokens and codepoint offsets of one text."""
        encoding = self._encode(text, special=special)
        return Encoded(tuple(encoding.tokens), tuple(encoding.offsets))

    def spans(self, text: str) -> TokenSpans:
        """Return where the text's own tokens stand."""
        return TokenSpans(self._encode(text, special=False))

    def encode_inputs(self, texts: Sequence[str]) -> list[tuple[list[int], list[bool]]]:
        """Return per text the model's input ids, template included, and which of them the template added.

        A special token that a text spells out belongs to its text.
        """
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=True)
        return [(list(e.ids), [sequence is None for sequence in e.sequence_ids]) for e in encodings]

    def encode_pair_inputs(self, query: str, documents: Sequence[str]) -> list[tuple[list[int], list[int]]]:
        """Return per document the input ids of its pair in the model's template, and their token type ids."""
        pairs = [(query, document) for document in documents]
        encodings = self._tokenizer.encode_batch_fast(pairs, add_special_tokens=True)
        return [(list(e.ids), list(e.type_ids)) for e in encodings]

    def _encode(self, text: str, *, special: bool) -> Encoding:
        # Unlike a batch, a single text is encoded without letting any other thread run.
        return self._tokenizer.encode_batch([text], add_special_tokens=special)[0]
