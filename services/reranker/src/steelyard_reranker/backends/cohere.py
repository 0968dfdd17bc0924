"""Servers of the Cohere dialect: Cohere v2, Jina, vLLM, infinity, llama.cpp, SiliconFlow, LiteLLM.

They publish no truncation policy, so nothing can be held against the declared pair limit; what is checked is that the
server answers, takes the key, and, where it lists its models, serves the declared one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from steelyard_runtime.model_server import ModelServer, reason_of_status
from steelyard_runtime.spaced import Spaced

from ..row_fault import RowFault
from .batching import Limits, scored_by_one
from .port import RerankBackendError
from .reasons import BackendReason
from .rows import scores_of
from .wire_dialect import WireDialect

MAX_ROWS = 1000
MAX_TEXT_BYTES = 8_000_000


class CohereBackend:
    """Scores with one server of the dialect."""

    def __init__(self, server: ModelServer, model_id: str, dialect: WireDialect) -> None:
        self.model_id = model_id
        self.revision = "unknown"
        self._server = server
        self._dialect = dialect
        self._returned: str | None = None
        self._check = Spaced(self._look)

    @property
    def policy(self) -> dict[str, object]:
        """See RerankBackend; `returned_model` is what the server said that it scored with, None until it says so."""
        return {
            "reranker": self.model_id,
            "revision": self.revision,
            "backend": "cohere",
            "dialect": asdict(self._dialect),
            "returned_model": self._returned,
        }

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        """See RerankBackend."""
        limits = Limits(MAX_ROWS, MAX_TEXT_BYTES, pointwise=self._dialect.model == "pointwise")
        try:
            scores, returned = await scored_by_one(texts, partial(self._ask, query), limits)
        except RerankBackendError:
            self._check.forget()
            raise
        self._returned = returned or self._returned
        return scores

    async def probe(self) -> None:
        """See RerankBackend."""
        await self._check()

    async def _ask(self, query: str, texts: Sequence[str]) -> tuple[list[float], str | None]:
        documents = [{"text": text} for text in texts] if self._dialect.documents == "object" else list(texts)
        sent: dict[str, Any] = {"model": self.model_id, "query": query, "documents": documents}
        if self._dialect.top_n == "send":
            sent["top_n"] = len(texts)
        reply = await self._server.post(self._dialect.path, sent)
        if not isinstance(reply, Mapping) or not isinstance(reply.get("results"), list):
            raise RerankBackendError(BackendReason.BAD_REPLY, "the server answered no list under `results`")
        scores = scores_of(reply["results"], len(texts), "relevance_score", self._dialect.scale)
        return scores, reply["model"] if isinstance(reply.get("model"), str) else None

    async def _look(self) -> None:
        if self._dialect.listing:
            served = _names(await self._server.get(self._dialect.listing))
            if self.model_id not in served:
                raise RerankBackendError(
                    BackendReason.MISDECLARED,
                    f"the server does not list {self.model_id!r}; set RERANKER_MODEL_ID to one of"
                    f" {', '.join(sorted(served)[:10]) or 'none'}",
                )
            return
        # Without a listing, the answer to a GET of the path that takes POSTs says that there is a server and whether it
        # takes the key; which refusal it is differs from server to server.
        status = await self._server.status(self._dialect.path)
        if status >= 500 or status in (401, 403, 429):
            raise RerankBackendError(reason_of_status(status), f"{self._dialect.path} answers {status}")


def _names(listing: Any) -> frozenset[str]:
    """Model names of a listing, in OpenAI's form (`data[].id`) or Cohere's (`models[].name`)."""
    if isinstance(listing, Mapping):
        for key, name in (("data", "id"), ("models", "name")):
            rows = listing.get(key)
            if isinstance(rows, list):
                return frozenset(
                    row[name] for row in rows if isinstance(row, Mapping) and isinstance(row.get(name), str)
                )
    raise RerankBackendError(BackendReason.BAD_REPLY, "the listing of models has neither `data` nor `models`")
