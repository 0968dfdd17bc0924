"""What the reranker takes and answers: OPEA's reranking, and the Cohere/Jina dialect."""

from typing import Any, Literal, Self

from pydantic import AliasChoices, Field, model_validator

from .base import Bool, Int, Name, NonNegativeInt, Number, PositiveInt, Probability, Request, Response, Text
from .documents import CandidateMetadata, TextDoc, TreeReport, check_alignment, misaligned
from .enums import Outcome, ScoreKind, Strategy
from .ledger import Degradation, LedgerEntry
from .pairs import PairFault, PairReport
from .vectors import Vector


class RerankingRequest(Request):
    """A superset of OPEA's `SearchedMultimodalDoc`, `SearchedDoc` and `RerankingRequest`.

    Strategy `adaptive` needs the query vector in `embedding` and one vector per candidate, in `chunk_embeddings` by
    chunk id or in the candidate's metadata. The fields from `outcome` to `tree` are what the retriever's reply
    carries, so that it can be posted here unchanged.
    """

    initial_query: Text = Field(validation_alias=AliasChoices("initial_query", "input"))
    retrieved_docs: list[TextDoc]
    metadata: list[CandidateMetadata] | None = None
    top_n: PositiveInt | None = None
    embedding: Vector | None = None
    chunk_embeddings: dict[Name, Vector] | None = None
    reranking_strategy: Strategy | None = None
    reranking_threshold: Probability | None = None
    id: Text | None = None
    outcome: Outcome = Outcome.OK
    degraded: Degradation | None = None
    score_kind: ScoreKind | None = None
    policy_hash: Text = ""
    tree: TreeReport | None = None
    request_type: Literal["reranking"] = "reranking"
    downstream_black_list: list[Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _accept_opea_shapes(cls, value: Any) -> Any:
        """Take OPEA's bare strings, and hoist its per-document metadata into the parallel list."""
        if not isinstance(value, dict) or not isinstance(value.get("retrieved_docs"), list):
            return value
        docs = [{"text": doc} if isinstance(doc, str) else doc for doc in value["retrieved_docs"]]
        inside = [doc.get("metadata") if isinstance(doc, dict) else None for doc in docs]
        bare = [_without_metadata(doc) if isinstance(doc, dict) else doc for doc in docs]
        if all(entry is None for entry in inside):
            return {**value, "retrieved_docs": bare}
        if value.get("metadata") is not None:
            raise misaligned("metadata is given both as a list and inside retrieved_docs")
        if None in inside:
            raise misaligned("retrieved_docs {position} has no metadata while others have", position=inside.index(None))
        return {**value, "retrieved_docs": bare, "metadata": inside}

    @model_validator(mode="after")
    def _is_aligned(self) -> Self:
        if self.metadata is not None:
            check_alignment(self.retrieved_docs, self.metadata)
        else:
            ids = [doc.id for doc in self.retrieved_docs if doc.id is not None]
            if len(set(ids)) != len(ids):
                raise ValueError("retrieved_docs repeat an id")
        return self


def _without_metadata(doc: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in doc.items() if key != "metadata"}


class RerankedDoc(Response):
    """A document that was kept. `score` is of the reply's `score_kind`; None when that kind has none for it."""

    id: str
    text: str
    score: Number | None = None
    rank: PositiveInt


class RerankingResponse(Response):
    """Selection and ledger. `reranked_docs` are in rank order; every candidate has one ledger entry.

    `settings` are the effective values that the strategy selected with, `top_n` and `threshold` among them, by the
    names of `SelectionOverrides`; a reader needs them to see why a value was enough.
    """

    id: str | None = None
    outcome: Outcome
    degraded: Degradation | None = None
    policy_hash: str
    strategy: Strategy
    score_kind: ScoreKind
    initial_query: str
    reranked_docs: list[RerankedDoc]
    ledger: list[LedgerEntry]
    settings: dict[str, Int | Number | None] = Field(default_factory=dict)


class RerankDocument(Request):
    """A document of the Cohere/Jina dialect."""

    text: Text


class RerankRequest(Request):
    """The Cohere v2 / Jina request.

    `max_tokens_per_doc` cuts the copy of each document that is scored to that many of the reranker's own tokens.
    `priority` has no effect: requests are worked on as they come.
    """

    query: Text
    documents: list[Text | RerankDocument]
    model: Text | None = None
    top_n: PositiveInt | None = None
    return_documents: Bool = False
    max_tokens_per_doc: PositiveInt | None = None
    priority: NonNegativeInt | None = None


class RerankResult(Response):
    """One document; `pair` is Steelyard's survival report.

    A document with a `fault` was not scored: its 0 is a place in the order and no judgement.
    """

    index: NonNegativeInt
    relevance_score: Number
    document: RerankDocument | None = None
    pair: PairReport | None = None
    fault: PairFault | None = None


class RerankMeta(Response):
    """Cohere's billing block; nothing is billed here."""

    api_version: dict[str, str] = Field(default_factory=lambda: {"version": "2"})
    billed_units: dict[str, int] = Field(default_factory=lambda: {"search_units": 0})


class RerankResponse(Response):
    """The Cohere v2 / Jina reply with Steelyard's policy hash."""

    id: str
    model: str
    results: list[RerankResult]
    meta: RerankMeta = Field(default_factory=RerankMeta)
    policy_hash: str = ""
