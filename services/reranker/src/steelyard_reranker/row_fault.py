"""Why one text has no rerank score while the others keep theirs."""

from enum import StrEnum
from typing import NamedTuple


class RowReason(StrEnum):
    """Short names that stay as they are, in ledgers and in replies of the Cohere dialect."""

    TEXT_TOO_LONG = "text_too_long"
    """It has more tokens than the pair has room for and may not be cut, or more bytes than the server takes."""

    TEXT_UNCUTTABLE = "text_uncuttable"
    """It is too long and no part fits: a character has more tokens, or the tokenizer does not say where any are."""

    BLANK_AFTER_CUT = "blank_after_cut"
    """What the reranker may read of it is only white space."""

    BLANK_TEXT = "blank_text"
    """It is empty or white space; only `/v1/rerank` says so here, a ledger has a reason of that name."""

    TEXT_REFUSED = "text_refused"
    """The server refused it."""


class RowFault(NamedTuple):
    """What is wrong with one text. `reason` is a `RowReason`, or another reranker's name for it; `detail` says it."""

    reason: str
    detail: str
