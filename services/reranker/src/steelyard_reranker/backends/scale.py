"""The scale of a backend's raw scores, and their way to rerank scores in [0, 1]."""

import math
from enum import StrEnum


class Scale(StrEnum):
    """What a raw score is. It is declared, never guessed from the scores: 0.7 can be either."""

    PROBABILITY = "probability"
    """In [0, 1] already."""

    LOGIT = "logit"
    """Any finite number; the logistic function maps it, as it did in the model's training."""

    def rerank_score(self, raw: float) -> float:
        """Return the rerank score. What is not finite, or no probability, stays so for the reply's check to refuse."""
        if self is Scale.PROBABILITY or not math.isfinite(raw):
            return raw
        if raw >= 0.0:
            return 1.0 / (1.0 + math.exp(-raw))
        growth = math.exp(raw)
        return growth / (1.0 + growth)
