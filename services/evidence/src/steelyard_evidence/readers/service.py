"""A running reranker service: `/info` says what it reads with, `/v1/rerank` scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from steelyard_contracts.enums import PairStatus
from steelyard_contracts.health import Info
from steelyard_contracts.reranking import RerankResponse, RerankResult
from steelyard_models.tokenizer import TextTokenizer
from steelyard_reranker.backends.port import RerankBackendError, checked
from steelyard_reranker.backends.reasons import BackendReason
from steelyard_reranker.pairs import PairFormat
from steelyard_reranker.row_fault import RowFault
from steelyard_runtime.model_server import ModelServer

_ROWS = 64
"""Documents of one request; a service that is asked for hundreds of pairs at once can be late for all of them."""

Payload = TypeVar("Payload", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """What a reranker service says of itself. `pair_tokens` is its longest pair, None where it can not count."""

    model_id: str
    policy: dict[str, object]
    pair_tokens: int | None

    @classmethod
    async def ask(cls, server: ModelServer) -> "ServiceFacts":
        """Ask `/info`; raises RerankBackendError."""
        info = _payload(Info, await server.get("/info"))
        model = info.models.get("reranker")
        if not isinstance(model, dict) or not isinstance(model.get("id"), str):
            raise RerankBackendError(
                BackendReason.MISDECLARED, f"{server.base_url} is {info.service!r}, which reranks with no model"
            )
        policy = {name: value for name, value in model.items() if name != "id"}
        limit = info.limits.get("pair_tokens")
        return cls(model["id"], policy, None if limit is None else int(limit))

    def limit_within(self, limit: int) -> int:
        """The longest pair, where the model's files say `limit`."""
        return limit if self.pair_tokens is None else min(limit, self.pair_tokens)

    def check_tokenizer(self, tokenizer: TextTokenizer) -> None:
        """Raise RerankBackendError when the service says that it has another one."""
        theirs = self.policy.get("tokenizer")
        if theirs is not None and theirs != tokenizer.sha256:
            raise RerankBackendError(
                BackendReason.MISDECLARED,
                f"{tokenizer.path} has the hash {tokenizer.sha256[:16]}, the service's tokenizer {str(theirs)[:16]}",
            )


class ServiceBackend:
    """Scores with a running service, which must read what it is sent as it was measured here, or nothing is scored."""

    def __init__(self, server: ModelServer, facts: ServiceFacts, pair_format: PairFormat) -> None:
        self.model_id = facts.model_id
        self.revision = str(facts.policy.get("revision", "unknown"))
        self.policy = facts.policy
        self._server = server
        self._format = pair_format

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        """See RerankBackend. Raises RerankBackendError also when the service cut a text or counts other tokens."""
        scores: list[float | RowFault] = []
        for start in range(0, len(texts), _ROWS):
            batch = texts[start : start + _ROWS]
            scores += checked(await self._ask(query, batch), len(batch))
        return scores

    async def probe(self) -> None:
        """See RerankBackend."""
        await ServiceFacts.ask(self._server)

    async def _ask(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        reply = _payload(
            RerankResponse, await self._server.post("/v1/rerank", {"query": query, "documents": list(texts)})
        )
        rows = {result.index: result for result in reply.results}
        if sorted(rows) != list(range(len(texts))) or len(reply.results) != len(texts):
            raise RerankBackendError(
                BackendReason.WRONG_COUNT, f"the service answered {len(reply.results)} rows for {len(texts)} texts"
            )
        asked = self._format.query_tokens(query)
        return [self._score(asked, text, rows[index]) for index, text in enumerate(texts)]

    def _score(self, query_tokens: int, text: str, result: RerankResult) -> float | RowFault:
        if result.fault is not None:
            return RowFault(result.fault.reason, result.fault.detail)
        pair = result.pair
        if pair is not None and (pair.truncated or pair.windows is not None):
            raise RerankBackendError(
                BackendReason.MISDECLARED,
                f"the service did not read a text of {self._format.text_tokens(text)} tokens whole, which it was cut"
                " for here; its pair budget or RERANK_MAX_CHARS_PER_DOC is lower than it says",
            )
        if pair is not None and pair.status is PairStatus.EXACT:
            ours = self._format.pair_tokens(query_tokens, self._format.text_tokens(text))
            if pair.tokens_total != ours:
                raise RerankBackendError(
                    BackendReason.MISDECLARED,
                    f"the service counts {pair.tokens_total} tokens in a pair that has {ours} here: another tokenizer",
                )
        return result.relevance_score


def _payload(kind: type[Payload], value: object) -> Payload:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the reply"
        raise RerankBackendError(
            BackendReason.BAD_REPLY, f"what answers is no reranker service of ours: {where}: {first['msg']}"
        ) from None
