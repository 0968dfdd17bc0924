"""What is sent of each text beside a query, decided before anything is sent.

Errors::

    QueryTooLongError       the query leaves no room for a text; it is refused and never cut
"""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard_contracts.enums import PairPolicy
from steelyard_contracts.errors import ErrorCode, SteelyardError

from ..input_copy import bounded
from ..row_fault import RowFault, RowReason
from .cut import Piece, beginning
from .format import PairFormat
from .passage import Passage
from .settings import TOKENIZER_SETTING, PairSettings
from .windows import windows


class QueryTooLongError(SteelyardError):
    """The query leaves less than RERANK_MIN_DOC_TOKENS for a text."""

    def __init__(self, query_tokens: int, room: int, limit: int, least: int) -> None:
        super().__init__(
            ErrorCode.QUERY_TOO_LONG,
            f"the query has {query_tokens} tokens, which leaves {max(room, 0)} of a pair's {limit} for a text;"
            f" RERANK_MIN_DOC_TOKENS={least}",
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent of one text: one piece, or its windows.

    `query_tokens`, `pair_total` (of the pair with the whole text) and `text_tokens` (of the whole text alone) are None
    when nobody here has the reranker's tokenizer. `overhead` is what a pair has besides the text's own tokens.
    """

    passage: Passage
    pieces: tuple[Piece, ...]
    query_tokens: int | None = None
    text_tokens: int | None = None
    overhead: int = 0

    @property
    def texts(self) -> list[str]:
        """The texts that are sent, each a part of the passage's."""
        return [self.passage.text[piece.start : piece.end] for piece in self.pieces]


class PairPlanner:
    """Plans with one pair format, or with none for a model whose tokenizer is not there. Safe to share."""

    def __init__(self, pair_format: PairFormat | None, settings: PairSettings) -> None:
        """Raises PairSettingError for settings that the format can not serve."""
        settings.check(pair_format)
        self._format = pair_format
        self._settings = settings

    @property
    def measures(self) -> bool:
        """Whether tokens can be counted."""
        return self._format is not None

    @property
    def policy(self) -> dict[str, object]:
        """What decides what is read of a text; part of every policy hash."""
        limit = None if self._format is None else self._settings.limit(self._format)
        return {"pairs": self._settings.policy, "pair_limit": limit}

    def plans(
        self, query: str, passages: Sequence[Passage], max_doc_tokens: int | None = None
    ) -> list[Plan | RowFault]:
        """Plan each passage, in order; a passage that can not be read as the settings ask has a fault of its own.

        `max_doc_tokens` cuts the copy of each text to that many tokens before the pair budget is looked at. Raises
        QueryTooLongError, and `invalid_request` for `max_doc_tokens` without a tokenizer.
        """
        copies = bounded([passage.text for passage in passages], self._settings.max_chars)
        if self._format is None:
            if max_doc_tokens is not None:
                raise SteelyardError(
                    ErrorCode.INVALID_REQUEST, f"max_tokens_per_doc: can not be counted without {TOKENIZER_SETTING}"
                )
            return [_unmeasured(passage, copy) for passage, copy in zip(passages, copies, strict=True)]
        limit = self._settings.limit(self._format)
        query_tokens = self._format.query_tokens(query)
        room = self._format.room(query_tokens, limit)
        if room < self._settings.min_doc_tokens:
            raise QueryTooLongError(query_tokens, room, limit, self._settings.min_doc_tokens)
        measured = _Measured(self._format, self._settings, query_tokens, room, max_doc_tokens)
        return [measured.plan(passage, copy) for passage, copy in zip(passages, copies, strict=True)]


@dataclass(frozen=True, slots=True)
class _Measured:
    """Plans the texts of one query; each may have `room` tokens."""

    format: PairFormat
    settings: PairSettings
    query_tokens: int
    room: int
    max_doc_tokens: int | None

    def plan(self, passage: Passage, copy: str) -> Plan | RowFault:
        total = self.format.text_tokens(passage.text)
        tokens = total if len(copy) == len(passage.text) else self.format.text_tokens(copy)
        if self.max_doc_tokens is not None and tokens > self.max_doc_tokens:
            start = beginning(self.format, copy, self.max_doc_tokens)
            if start is None:
                return _uncuttable(self.max_doc_tokens)
            copy = copy[: start.end]
            tokens = self.format.text_tokens(copy)
        if tokens <= self.room:
            pieces = [Piece(0, len(copy), 0, tokens, tokens)]
        elif self.settings.long_document is PairPolicy.ERROR:
            return RowFault(RowReason.TEXT_TOO_LONG, f"the text has {tokens} tokens, the pair has room for {self.room}")
        elif self.settings.long_document is PairPolicy.WINDOWS:
            spans = self.format.spans(copy)
            pieces = windows(self.format, copy, spans, self.room, self.settings.window_overlap)
        else:
            start = beginning(self.format, copy, self.room)
            pieces = [] if start is None else [start]
        if not pieces:
            return _uncuttable(self.room)
        pieces = [piece for piece in pieces if copy[piece.start : piece.end].strip()]
        if not pieces:
            return _blank()
        overhead = self.format.pair_tokens(self.query_tokens, 0)
        return Plan(passage, tuple(pieces), self.query_tokens, total, overhead)


def _unmeasured(passage: Passage, copy: str) -> Plan | RowFault:
    return Plan(passage, (Piece(0, len(copy), 0, 0, None),)) if copy.strip() else _blank()


def _blank() -> RowFault:
    return RowFault(RowReason.BLANK_AFTER_CUT, "what the reranker may read of the text is only white space")


def _uncuttable(room: int) -> RowFault:
    return RowFault(
        RowReason.TEXT_UNCUTTABLE,
        f"no part of {room} tokens can be cut out: a code point has more, or the tokenizer does not say where they are",
    )
