"""The port to whatever scores query-candidate pairs, and the check that every backend's scores pass.

Errors::

    RerankBackendError      the backend failed or replied nonsense; the whole reply is discarded
"""

import math
from collections.abc import Sequence
from typing import Protocol

from ..row_fault import RowFault
from .reasons import BackendReason


class RerankBackendError(Exception):
    """The backend failed or replied nonsense.

    `reason` is a short stable name for metrics and ledgers, `hold_s` how long a server asked to be left alone.
    """

    def __init__(self, reason: str, detail: str, *, hold_s: float = 0.0) -> None:
        super().__init__(detail)
        self.reason = str(reason)
        self.hold_s = hold_s


class RerankBackend(Protocol):
    """Scores texts against one query. `policy` is the backend's share of the policy hash."""

    @property
    def model_id(self) -> str:
        """The name by which scores are attributed to a model."""

    @property
    def revision(self) -> str:
        """Which version of the model scores; `unknown` as long as it is."""

    @property
    def policy(self) -> dict[str, object]:
        """Model, revision, truncation and the mapping of raw scores to [0, 1]."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        """A rerank score in [0, 1], or the fault of that text alone, for each of `texts` in their order.

        None of the texts is blank, and each fits the pair budget where one is known. Raises RerankBackendError for
        everything that concerns more than single texts.
        """

    async def probe(self) -> None:
        """Raise RerankBackendError unless the backend can score now, and as it is declared to."""


def checked(scores: Sequence[float | RowFault], count: int) -> Sequence[float | RowFault]:
    """Return `scores` if there are `count`, finite and in [0, 1] or faults of single rows; else raise.

    A bool, a string and None are no scores, though Python could compare the first and a reply could hold all three.
    Raises RerankBackendError also when every row has a fault of its own: that is no reply.
    """
    if len(scores) != count:
        raise RerankBackendError(BackendReason.WRONG_COUNT, f"the backend scored {len(scores)} of {count} candidates")
    for score in scores:
        if isinstance(score, RowFault):
            continue
        if type(score) not in (float, int):
            raise RerankBackendError(
                BackendReason.NOT_A_NUMBER, f"the backend returned a score of type {type(score).__name__}"
            )
        if not math.isfinite(score):
            raise RerankBackendError(BackendReason.NOT_FINITE, "the backend returned a score that is not finite")
        if not 0.0 <= score <= 1.0:
            raise RerankBackendError(
                BackendReason.OUT_OF_SCALE, f"the backend returned the score {score}, not in [0, 1]"
            )
    faults = [score for score in scores if isinstance(score, RowFault)]
    if count and len(faults) == count:
        raise RerankBackendError(
            faults[0].reason, f"the backend refused each of {count} candidates: {faults[0].detail}"
        )
    return scores
