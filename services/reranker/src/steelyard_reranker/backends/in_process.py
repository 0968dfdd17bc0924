"""Scoring with a model in this process: in a thread, given up when nobody waits, one over-long text at a time."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from threading import Event

from steelyard_models.encoder import GoOn
from steelyard_models.errors import ModelError, QueryTooLongError, TextTooLongError
from steelyard_runtime.blocking import Workers

from ..row_fault import RowFault, RowReason
from .port import RerankBackendError, checked
from .reasons import BackendReason

Model = Callable[[str, Sequence[str], GoOn], Sequence[float]]
"""Scores in [0, 1] of texts for a query; raises steelyard_models' errors."""

_PROBE_TEXT = "A steelyard weighs a load against a counterweight."


class InProcessBackend(ABC):
    """Scores in `scoring`, and probes in `probing`, so that a model that is only busy is not taken for a dead one."""

    def __init__(self, *, scoring: Workers, probing: Workers) -> None:
        self._scoring = scoring
        self._probing = probing

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        """See RerankBackend."""
        return await _in_thread(self._scoring, self._scores, query, texts)

    async def probe(self) -> None:
        """See RerankBackend."""
        checked(await _in_thread(self._probing, self._scores, "probe", [_PROBE_TEXT]), 1)

    @abstractmethod
    def _scores(self, query: str, texts: Sequence[str], go_on: GoOn) -> list[float]:
        """See Model."""


async def _in_thread(workers: Workers, model: Model, query: str, texts: Sequence[str]) -> list[float | RowFault]:
    """Score in one of `workers`; cancelling this call tells the model to stop. Raises `model_failed`."""
    abandoned = Event()
    try:
        return await workers.run(_scored, model, query, texts, lambda: not abandoned.is_set())
    finally:
        abandoned.set()


def _scored(model: Model, query: str, texts: Sequence[str], go_on: GoOn) -> list[float | RowFault]:
    faults: dict[int, RowFault] = {}
    rows = list(range(len(texts)))
    while rows:
        try:
            scores = [float(score) for score in model(query, [texts[row] for row in rows], go_on)]
        except TextTooLongError as error:
            if isinstance(error, QueryTooLongError):
                raise RerankBackendError(BackendReason.MODEL_FAILED, str(error)) from error
            # The pairs were measured before, so this is a tokenizer that is not the model's; the others are still read.
            faults[rows.pop(error.index)] = RowFault(RowReason.TEXT_TOO_LONG, str(error))
        except ModelError as error:
            raise RerankBackendError(BackendReason.MODEL_FAILED, str(error)) from error
        else:
            if len(scores) != len(rows):
                raise RerankBackendError(
                    BackendReason.WRONG_COUNT, f"the model scored {len(scores)} of {len(rows)} texts"
                )
            by_row = dict(zip(rows, scores, strict=True))
            return [faults[row] if row in faults else by_row[row] for row in range(len(texts))]
    return [faults[row] for row in range(len(texts))]
