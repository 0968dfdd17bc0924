"""A query and a document as one input of a cross-encoder, whole and under a limit, by `tokenizers` itself.

Written apart from the reranker's own pair code on purpose: a diagnostic that shared it could not find its faults.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tokenizers import Encoding, Tokenizer

from ..errors import InputError, NoOffsetsError, PairLimitError

QUERY, DOCUMENT = 0, 1


class TruncationStrategy(StrEnum):
    """Which part of a pair gives way. Steelyard cuts only the second, the document; the others are for comparison."""

    ONLY_SECOND = "only_second"
    LONGEST_FIRST = "longest_first"
    ONLY_FIRST = "only_first"


@dataclass(frozen=True, slots=True)
class PairTokens:
    """The primary encoding of a pair.

    Attributes:
        ids: what the model is given, special tokens included; `attention_mask` has the same length.
        document: half-open code-point spans of the document's tokens, empty ones included.
        query_tokens: how many tokens are the query's.
    """

    ids: tuple[int, ...]
    attention_mask: tuple[int, ...]
    document: tuple[tuple[int, int], ...]
    query_tokens: int

    def __len__(self) -> int:
        return len(self.ids)


class PairEncoder:
    """Encodes pairs with one `tokenizer.json`; whatever truncation and padding that file sets is switched off.

    Not safe to share between threads.
    """

    def __init__(self, path: Path) -> None:
        """Load the file; raises InputError."""
        try:
            data = path.read_bytes()
            self._whole = Tokenizer.from_buffer(data)
            self._limited = Tokenizer.from_buffer(data)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        except Exception as error:  # tokenizers raises bare Exception
            raise InputError(f"{path}: is no tokenizer.json: {error}") from error
        self.path = path
        self.sha256 = hashlib.sha256(data).hexdigest()
        for tokenizer in (self._whole, self._limited):
            tokenizer.no_truncation()
            tokenizer.no_padding()

    @property
    def special_tokens(self) -> int:
        """Tokens that the template adds to a pair."""
        return int(self._whole.num_special_tokens_to_add(is_pair=True))

    def encode(self, query: str, document: str) -> PairTokens:
        """Encode the whole pair; raises NoOffsetsError."""
        return self._tokens(self._whole.encode(query, document), document)

    def encode_within(self, query: str, document: str, limit: int, strategy: TruncationStrategy) -> PairTokens:
        """Encode the pair in at most `limit` tokens, special ones included; what overflows is not counted.

        Raises PairLimitError when the strategy can not make the pair that short, and NoOffsetsError.
        """
        if limit <= self.special_tokens:
            raise PairLimitError(f"a pair limit of {limit} leaves nothing beside {self.special_tokens} special tokens")
        try:
            self._limited.enable_truncation(limit, strategy=strategy.value)
            encoding = self._limited.encode(query, document)
        except Exception as error:  # tokenizers raises bare Exception
            raise PairLimitError(f"{strategy} can not bring the pair to {limit} tokens: {error}") from error
        if len(encoding.ids) > limit:
            raise PairLimitError(f"{strategy} leaves {len(encoding.ids)} tokens where {limit} are the limit")
        return self._tokens(encoding, document)

    def _tokens(self, encoding: Encoding, document: str) -> PairTokens:
        sequences = encoding.sequence_ids
        own = tuple(
            (start, end)
            for (start, end), sequence in zip(encoding.offsets, sequences, strict=True)
            if sequence == DOCUMENT
        )
        if QUERY not in sequences and DOCUMENT not in sequences:
            raise NoOffsetsError(f"{self.path}: the tokenizer tells no sequence ids, so survival can not be measured")
        for start, end in own:
            if not 0 <= start <= end <= len(document):
                raise NoOffsetsError(f"{self.path}: offset ({start}, {end}) lies outside of the document")
        if own and not any(start < end for start, end in own):
            raise NoOffsetsError(f"{self.path}: the tokenizer tells no offsets, so survival can not be measured")
        return PairTokens(tuple(encoding.ids), tuple(encoding.attention_mask), own, sequences.count(QUERY))
