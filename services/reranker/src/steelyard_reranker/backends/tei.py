"""Text Embeddings Inference, or another server that speaks its `/rerank` and `/info`."""

from collections.abc import Sequence
from functools import partial

from steelyard_runtime.model_server import ModelServer
from steelyard_runtime.tei_info import Declared, TeiInfo, check_info, misdeclared, read_info

from ..pairs.format import CrossEncoderFormat
from ..row_fault import RowFault
from .batching import Limits, scored
from .port import RerankBackendError
from .reasons import BackendReason
from .rows import scores_of
from .scale import Scale

MAX_ROWS = 32
"""More would save no time, since the server batches by itself, and would make a slow request slower to give up."""
MAX_TEXT_BYTES = 1_500_000
"""The server refuses bodies above 2,000,000 bytes; JSON writes some characters with more bytes than they have."""


class TeiBackend:
    """Scores with the declared model, and with no other.

    `/info` is read before the first scores, by every probe, and again after the server could not be reached, since what
    answers then may be another server. `declared_limit` is how many tokens of a pair it must read at least; None leaves
    that to the server, whose own limit then becomes that of `pair_format`.
    """

    def __init__(
        self,
        server: ModelServer,
        model_id: str,
        *,
        pair_format: CrossEncoderFormat | None = None,
        declared_limit: int | None = None,
    ) -> None:
        self.model_id = model_id
        self._server = server
        self._format = pair_format
        self._declared_limit = declared_limit
        self._info: TeiInfo | None = None
        self._checked = False

    @property
    def revision(self) -> str:
        """See RerankBackend; what the server named last, `unknown` before it was first reached."""
        return "unknown" if self._info is None else self._info.model_sha

    @property
    def policy(self) -> dict[str, object]:
        """See RerankBackend."""
        return {
            "reranker": self.model_id,
            "revision": self.revision,
            "backend": "tei",
            "scale": Scale.PROBABILITY,
            "server_truncates": False,
        }

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        """See RerankBackend. Raises `misdeclared`, without sending a text, for a server that is not as declared."""
        info = self._info if self._checked and self._info is not None else await self._look()
        limits = Limits(min(MAX_ROWS, info.max_client_batch_size), max(1, MAX_TEXT_BYTES - len(query.encode())))
        try:
            return await scored(texts, partial(self._ask, query), limits)
        except RerankBackendError as error:
            if error.reason == BackendReason.UNREACHABLE:
                self._checked = False
            raise

    async def probe(self) -> None:
        """See RerankBackend."""
        await self._look()

    async def _look(self) -> TeiInfo:
        try:
            info = read_info(await self._server.get("/info"), RerankBackendError)
            self._check(info)
        except RerankBackendError as error:
            # A server that is only slow or busy is still the one that was looked at.
            if error.reason not in (BackendReason.TIMEOUT, BackendReason.OVERLOADED):
                self._checked = False
            raise
        if self._format is not None:
            self._format.limit = info.max_input_length
        self._info, self._checked = info, True
        return info

    def _check(self, info: TeiInfo) -> None:
        advice = "serve a cross-encoder with one label"
        check_info(info, Declared("reranker", self.model_id, "RERANKER_MODEL_ID", advice), RerankBackendError)
        if self._declared_limit is not None and info.max_input_length < self._declared_limit:
            raise misdeclared(
                RerankBackendError,
                f"it reads {info.max_input_length} tokens of a pair, {self._declared_limit} are declared; lower"
                " RERANK_PAIR_BUDGET_TOKENS, or raise its --max-batch-tokens",
            )

    async def _ask(self, query: str, texts: Sequence[str]) -> list[float]:
        sent = {"query": query, "texts": list(texts), "truncate": False, "raw_scores": False, "return_text": False}
        rows = await self._server.post("/rerank", sent)
        if not isinstance(rows, list):
            raise RerankBackendError(BackendReason.BAD_REPLY, "the TEI server answered no list of ranks")
        return scores_of(rows, len(texts), "score", Scale.PROBABILITY)
