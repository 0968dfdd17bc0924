"""Which scored candidates are kept, and why: pure functions over numpy arrays, without web or I/O."""

from .candidates import Candidate, Candidates
from .embeddings import Embeddings
from .errors import (
    CurveNotDescendingError,
    EmbeddingMisalignedError,
    InvalidCandidatesError,
    ScoreOutOfScaleError,
    SelectionError,
    SettingOutOfRangeError,
    UnknownStrategyError,
)
from .knee import knee
from .result import Decision, Selection, ValueTerms
from .select import parse_strategy, select
from .settings import SelectionSettings
from .text_identity import is_blank, normal_form

__all__ = [
    "Candidate",
    "Candidates",
    "CurveNotDescendingError",
    "Decision",
    "EmbeddingMisalignedError",
    "Embeddings",
    "InvalidCandidatesError",
    "ScoreOutOfScaleError",
    "Selection",
    "SelectionError",
    "SelectionSettings",
    "SettingOutOfRangeError",
    "UnknownStrategyError",
    "ValueTerms",
    "is_blank",
    "knee",
    "normal_form",
    "parse_strategy",
    "select",
]
