"""What can go wrong in selection.

SelectionError                      anything below; the message names the key and the value
├── UnknownStrategyError            the strategy name is not in the closed enum; there is no fallback
├── SettingOutOfRangeError          a selection setting is not a finite number in its range
├── InvalidCandidatesError          the columns of the candidates do not fit together
│   └── ScoreOutOfScaleError        a rerank score is not finite or outside [0, 1]: a backend fault
├── CurveNotDescendingError         the knee was asked of scores that are not in descending order
└── EmbeddingMisalignedError        `adaptive` without one usable vector per candidate and for the query

`EmbeddingMisalignedError` is also a `RuntimeError` (a data-integrity fault, never a caller's typing mistake);
the others are also `ValueError`s.
"""


class SelectionError(Exception):
    """Base of every error that selection raises."""


class UnknownStrategyError(SelectionError, ValueError):
    """The strategy name is not one of the five."""


class SettingOutOfRangeError(SelectionError, ValueError):
    """A selection setting is not a finite number in its range."""


class InvalidCandidatesError(SelectionError, ValueError):
    """The columns of the candidates do not fit together."""


class ScoreOutOfScaleError(InvalidCandidatesError):
    """A rerank score is not finite or outside [0, 1]."""


class CurveNotDescendingError(SelectionError, ValueError):
    """The knee was asked of scores that are not in descending order."""


class EmbeddingMisalignedError(SelectionError, RuntimeError):
    """`adaptive` was asked without one usable vector per candidate and for the query."""
