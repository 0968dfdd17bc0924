"""Closed enums that cross the wire."""

from enum import StrEnum


class Strategy(StrEnum):
    """How the reranker chooses which scored candidates are kept."""

    SLICE = "slice"
    THRESHOLD = "threshold"
    SLICE_THRESHOLD = "slice_threshold"
    KNEE_THRESHOLD = "knee_threshold"
    ADAPTIVE = "adaptive"


class Fate(StrEnum):
    """Whether a candidate reached the prompt."""

    SENT = "sent"
    DROPPED = "dropped"


class Reason(StrEnum):
    """Why a candidate has its fate."""

    SELECTED = "selected"
    KEPT_FLOOR = "kept_floor"
    BELOW_COSINE_FLOOR = "below_cosine_floor"
    BELOW_THRESHOLD = "below_threshold"
    OVER_TOP_N = "over_top_n"
    AFTER_KNEE = "after_knee"
    VALUE_BELOW_THRESHOLD = "value_below_threshold"
    DUPLICATE = "duplicate"
    BLANK_TEXT = "blank_text"
    OVER_CONTEXT_BUDGET = "over_context_budget"
    NOT_SCORED = "not_scored"
