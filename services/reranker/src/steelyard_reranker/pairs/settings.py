"""How long a pair may be, and what happens to a text that does not fit.

Errors::

    PairSettingError        a setting has the wrong type, is out of range, or contradicts the model; names the key
"""

from dataclasses import asdict, dataclass

from steelyard_contracts.enums import PairPolicy, WindowAggregation

from .format import PairFormat

TOKENIZER_SETTING = "RERANK_MODEL_DIR"
"""The setting that names the tokenizer of a reranker whose model runs elsewhere."""

LEAST_DOC_TOKENS = 16
"""No setting leaves a text less room than one code point can need: normalisation spells some out as ten tokens."""


class PairSettingError(ValueError):
    """A setting has the wrong type, is out of range, or contradicts the model."""


@dataclass(frozen=True, slots=True)
class PairSettings:
    """The bounds of what the reranker reads.

    Attributes:
        max_chars: code points of the copy of a text that the reranker is given, 0 = all of them.
        budget: tokens of the longest pair, special tokens included; None is the model's own limit.
        min_doc_tokens: a query that leaves less than this for a text is refused.
        long_document: what happens to a text that does not fit beside the query.
        window_overlap: tokens that a window shares with the one before it; never more than half a window. A statement
            of up to that many tokens stands whole in one window, wherever a boundary falls.
        max_windows: how many windows, from the start of the text, aggregation `capped` takes into account.
        aggregation: which score of its windows is a candidate's.

    Raises:
        PairSettingError: a number is no int (a bool is none, nor is 5.0) or out of range.
    """

    max_chars: int = 0
    budget: int | None = None
    min_doc_tokens: int = 32
    long_document: PairPolicy = PairPolicy.TRUNCATE
    window_overlap: int = 32
    max_windows: int = 8
    aggregation: WindowAggregation = WindowAggregation.MAX

    def __post_init__(self) -> None:
        least = {"max_chars": 0, "min_doc_tokens": LEAST_DOC_TOKENS, "window_overlap": 0, "max_windows": 1}
        if self.budget is not None:
            least["budget"] = 1
        for name, low in least.items():
            value = getattr(self, name)
            if type(value) is not int or value < low:
                raise PairSettingError(f"{name} must be an integer of at least {low}, got {value!r}")

    @property
    def policy(self) -> dict[str, object]:
        """What decides what is read of a text; part of every policy hash."""
        return asdict(self)

    def limit(self, pair_format: PairFormat) -> int:
        """Tokens of the longest pair that is sent, special tokens included.

        A server can name a lower limit than its model's files did at start, so the budget alone does not decide.
        """
        return pair_format.limit if self.budget is None else min(self.budget, pair_format.limit)

    def check(self, pair_format: PairFormat | None) -> None:
        """Raise PairSettingError for what this model, or a model whose tokenizer is not there, can not do."""
        if pair_format is None:
            if self.budget is not None:
                raise PairSettingError(f"RERANK_PAIR_BUDGET_TOKENS={self.budget} needs {TOKENIZER_SETTING}")
            if self.long_document is PairPolicy.WINDOWS:
                raise PairSettingError(f"RERANK_LONG_DOCUMENT=windows needs {TOKENIZER_SETTING}")
            return
        if self.budget is not None and self.budget > pair_format.limit:
            raise PairSettingError(
                f"RERANK_PAIR_BUDGET_TOKENS={self.budget} is more than the {pair_format.limit} tokens that the model"
                " reads"
            )
        limit = self.limit(pair_format)
        if pair_format.room(1, limit) < self.min_doc_tokens:
            raise PairSettingError(
                f"RERANK_MIN_DOC_TOKENS={self.min_doc_tokens} leaves no token for any query in a pair of {limit}"
            )
