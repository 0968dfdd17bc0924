"""The port to whatever scores query-candidate pairs, and the check that every backend's scores pass.

Errors::

    RerankBackendError      the backend failed or replied nonsense; the whole reply is discarded
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from steelyard_contracts.ledger import PairReport


class RerankBackendError(Exception):
    """The backend failed or replied nonsense. `reason` is a short stable name for metrics and ledgers."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Judgement(NamedTuple):
    """A rerank score in [0, 1], the tokens of the whole text, and what was read of the pair."""

    score: float
    tokens: int
    pair: PairReport


class Scorer(Protocol):
    """Scores texts against one query. `policy` is the backend's share of the policy hash."""

    model_id: str
    revision: str

    @property
    def policy(self) -> dict[str, object]:
        """Model, revision, truncation and the mapping of raw scores to [0, 1]."""

    def score(self, query: str, texts: Sequence[str]) -> list[Judgement]:
        """Judge each of `texts`, none of them blank, in their order. Blocking.

        Raises RerankBackendError, and `query_too_long` for a query that leaves no room for a text.
        """


def checked(judgements: list[Judgement], count: int) -> list[Judgement]:
    """Return `judgements` if there are `count` with finite scores in [0, 1]; else raise RerankBackendError.

    A bool, a string and None are no scores, though Python could compare the first and a reply could hold all three.
    """
    if len(judgements) != count:
        raise RerankBackendError("wrong_count", f"the backend scored {len(judgements)} of {count} candidates")
    for judgement in judgements:
        if type(judgement.score) not in (float, int):
            kind = type(judgement.score).__name__
            raise RerankBackendError("not_a_number", f"the backend returned a score of type {kind}")
        if not math.isfinite(judgement.score):
            raise RerankBackendError("not_finite", "the backend returned a score that is not finite")
        if not 0.0 <= judgement.score <= 1.0:
            raise RerankBackendError("out_of_scale", f"the backend returned the score {judgement.score}, not in [0, 1]")
    return judgements
