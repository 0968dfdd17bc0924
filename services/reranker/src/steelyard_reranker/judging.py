"""From texts to judgements: what is sent of each text, its rerank score, and the report of what was read."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from steelyard_contracts.enums import PairPolicy
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.ledger import PairReport
from steelyard_runtime import logs
from steelyard_runtime.blocking import Workers

from .backends.port import RerankBackend, RerankBackendError, RowFault, checked
from .input_copy import bounded
from .pairs.cut import cut
from .pairs.format import PairFormat


class Judgement(NamedTuple):
    """A rerank score in [0, 1], the tokens of the text that was judged, and what was read of the pair.

    Without the reranker's tokenizer a pair is unmeasured: no report, and no tokens.
    """

    score: float
    tokens: int
    pair: PairReport | None


class Judge:
    """Judges texts with one backend. Measuring and cutting texts runs in `planning`, away from the event loop."""

    def __init__(
        self, backend: RerankBackend, pair_format: PairFormat | None, max_chars: int, planning: Workers
    ) -> None:
        self.backend = backend
        self._format = pair_format
        self._max_chars = max_chars
        self._planning = planning

    @property
    def policy(self) -> dict[str, object]:
        """What decides how a text is scored; part of every policy hash."""
        return {
            **self.backend.policy,
            "pair_limit": None if self._format is None else self._format.limit,
            "long_document": PairPolicy.TRUNCATE,
            "max_chars_per_doc": self._max_chars,
        }

    async def judge(self, query: str, texts: Mapping[str, str]) -> dict[str, Judgement]:
        """Judge texts by id; nothing to judge asks no backend.

        A text of which the cap leaves only white space has no judgement, and one that the cap cuts has a truncated
        pair, whose tokens are those of its copy. Raises `query_too_long`, and RerankBackendError for whatever else goes
        wrong in the backend.
        """
        copies = dict(zip(texts, bounded(list(texts.values()), self._max_chars), strict=True))
        readable = {text_id: copy for text_id, copy in copies.items() if copy.strip()}
        if not readable:
            return {}
        pairs = await self._planning.run(self._pairs, query, list(readable.values()))
        scores = checked(await self._scores(query, [pair.text for pair in pairs]), len(pairs))
        judged = {}
        for text_id, pair, score in zip(readable, pairs, scores, strict=True):
            if not isinstance(score, RowFault):
                capped = len(readable[text_id]) < len(texts[text_id])
                report = pair.report
                if capped and report is not None:
                    report = report.model_copy(update={"truncated": True})
                judged[text_id] = Judgement(score, pair.tokens, report)
        return judged

    async def _scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        try:
            return await self.backend.scores(query, texts)
        except (RerankBackendError, SteelyardError):
            raise
        except Exception as error:
            kind = type(error).__name__
            logs.get().error("rerank_backend_crashed", kind=kind, at=logs.place(error))
            raise RerankBackendError("crashed", f"the backend failed with {kind}") from error

    def _pairs(self, query: str, texts: Sequence[str]) -> "list[_Pair]":
        if self._format is None:
            return [_Pair(text, 0, None) for text in texts]
        query_tokens = self._format.query_tokens(query)
        room = self._format.room(query_tokens)
        if room < 1:
            raise SteelyardError(
                ErrorCode.QUERY_TOO_LONG,
                f"the query has {query_tokens} tokens, the reranker reads at most {self._format.limit}",
            )
        return [_pair(self._format, query_tokens, text, room) for text in texts]


def _pair(pair_format: PairFormat, query_tokens: int, text: str, room: int) -> "_Pair":
    kept = cut(pair_format, text, room)
    report = PairReport(
        tokens_total=pair_format.pair_tokens(query_tokens, kept.tokens_total),
        tokens_kept=pair_format.pair_tokens(query_tokens, kept.tokens_kept),
        truncated=kept.tokens_kept < kept.tokens_total,
        policy=PairPolicy.TRUNCATE,
        kept_spans=[(0, len(kept.text))],
        query_tokens=query_tokens,
    )
    return _Pair(kept.text, kept.tokens_total, report)


class _Pair(NamedTuple):
    """What is sent of a text, the tokens of the whole text, and the report."""

    text: str
    tokens: int
    report: PairReport | None
