"""From texts to judgements: what is sent of each text, its rerank score, and the report of what was read."""

from collections.abc import Iterator, Sequence

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.blocking import Workers

from .backends.guarded import Guarded
from .backends.port import RerankBackendError
from .pairs import Judgement, PairFormat, PairPlanner, PairSettings, Passage, Plan, judgement
from .row_fault import RowFault


class Judge:
    """Judges texts with one backend. Measuring and cutting texts runs in `planning`, away from the event loop.

    Raises PairSettingError for settings that `pair_format`, or its absence, can not serve.
    """

    def __init__(
        self, backend: Guarded, pair_format: PairFormat | None, settings: PairSettings, planning: Workers
    ) -> None:
        self.backend = backend
        self._planner = PairPlanner(pair_format, settings)
        self._settings = settings
        self._planning = planning

    @property
    def counts_tokens(self) -> bool:
        """Whether judgements know the tokens of their texts."""
        return self._planner.measures

    @property
    def policy(self) -> dict[str, object]:
        """What decides how a text is scored; part of every policy hash."""
        return {**self.backend.policy, **self._planner.policy}

    async def judge(
        self, query: str, passages: Sequence[Passage], max_doc_tokens: int | None = None
    ) -> dict[str, Judgement | RowFault]:
        """Judge texts by id, none of them blank; nothing to judge asks no backend.

        A text that can not be judged has its fault while the others keep their scores. Raises what `PairPlanner.plans`
        does, and RerankBackendError for whatever goes wrong in the backend, or when every text has a fault of its own.
        """
        if not passages:
            return {}
        plans = await self._planning.run(self._planner.plans, query, passages, max_doc_tokens)
        texts = [text for plan in plans if isinstance(plan, Plan) for text in plan.texts]
        scores = iter(await self._scores(query, texts))
        verdicts = [self._verdict(plan, scores) for plan in plans]
        faults = [verdict for verdict in verdicts if isinstance(verdict, RowFault)]
        if len(faults) == len(verdicts):
            raise RerankBackendError(
                faults[0].reason, f"none of {len(faults)} candidates could be scored: {faults[0].detail}"
            )
        return {passage.chunk_id: verdict for passage, verdict in zip(passages, verdicts, strict=True)}

    def _verdict(self, plan: Plan | RowFault, scores: Iterator[float | RowFault]) -> Judgement | RowFault:
        if isinstance(plan, RowFault):
            return plan
        return judgement(plan, [next(scores) for _ in plan.pieces], self._settings)

    async def _scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        try:
            return await self.backend.scores(query, texts)
        except SteelyardError as error:
            if error.code is ErrorCode.QUERY_TOO_LONG:
                raise
            raise RerankBackendError(str(error.code), error.detail) from error
