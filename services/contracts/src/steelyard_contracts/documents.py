"""OPEA's documents: what embedding, retriever and reranker exchange, with the traps of the originals closed.

OPEA's `metadata` is a list parallel to `retrieved_docs`; here both have the same length and every entry repeats its
chunk id, so that an entry can not shift. OPEA drops `embedding`, `chunk_embeddings` and `reranking_strategy` as
unknown; here they are declared.
"""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from .base import Int, NonNegativeInt, NonNegativeNumber, Number, PositiveInt, Request, Response
from .enums import Outcome, ScoreKind, SearchType
from .ledger import Degradation
from .vectors import Vector


class TextDoc(Request):
    """A text with its identity. `downstream_black_list` is OPEA's bookkeeping and has no effect here."""

    id: str | None = None
    text: str
    downstream_black_list: list[Any] | None = None


class Constraints(Request):
    """A typed filter on candidates; every list given narrows the search, an empty list matches nothing."""

    document_ids: list[str] | None = None
    sources: list[str] | None = None


class EmbedDoc(Request):
    """OPEA's `EmbedDoc`: a text with its vector and how to search with it."""

    id: str | None = None
    text: str | list[str]
    embedding: Vector | list[Vector]
    search_type: SearchType = SearchType.SIMILARITY
    k: PositiveInt = 4
    distance_threshold: NonNegativeNumber | None = None
    fetch_k: PositiveInt = 20
    lambda_mult: Annotated[float, Field(strict=True, ge=0.0, le=1.0, allow_inf_nan=False)] = 0.5
    score_threshold: Number = 0.2
    constraints: Constraints | None = None
    index_name: str | None = None
    downstream_black_list: list[Any] | None = None


class CandidateMetadata(Request):
    """What is known about one candidate besides its text.

    `char_start` and `char_end` are a half-open span in Unicode code points of the stored document text.
    """

    chunk_id: str
    document_id: str
    revision: str
    source: str
    title: str = ""
    section: str = ""
    char_start: NonNegativeInt
    char_end: NonNegativeInt
    page: PositiveInt | None = None
    parent_id: str | None = None
    scope: str
    tokens: NonNegativeInt | None = None
    scores: dict[ScoreKind, Number] = Field(default_factory=dict)
    chunk_embedding: Vector | None = None

    @model_validator(mode="after")
    def _span_is_ordered(self) -> Self:
        if self.char_end < self.char_start:
            raise ValueError(f"char_end {self.char_end} lies before char_start {self.char_start}")
        return self


class SearchedDoc(Response):
    """OPEA's `SearchedDoc`."""

    id: str | None = None
    retrieved_docs: list[TextDoc]
    initial_query: str
    top_n: PositiveInt = 1


class SearchedMultimodalDoc(SearchedDoc):
    """The retriever's reply: candidates in the order of `score_kind`, with one metadata entry for each.

    `embedding` (the query vector) and the entries' `chunk_embedding` are present only when the effective strategy is
    `adaptive`; no other strategy reads them.
    """

    metadata: list[CandidateMetadata]
    outcome: Outcome = Outcome.OK
    degraded: Degradation | None = None
    score_kind: ScoreKind = ScoreKind.COSINE
    policy_hash: str = ""
    embedding: Vector | None = None

    @model_validator(mode="after")
    def _metadata_is_aligned(self) -> Self:
        check_alignment(self.retrieved_docs, self.metadata)
        return self


class TokenUsage(Response):
    """OpenAI's usage block of an embedding."""

    prompt_tokens: Int
    total_tokens: Int


def check_alignment(docs: list[TextDoc], metadata: list[CandidateMetadata]) -> None:
    """Raise ValueError unless `metadata` has one entry per document, repeating its id, and no id twice."""
    if len(docs) != len(metadata):
        raise ValueError(f"metadata has {len(metadata)} entries for {len(docs)} retrieved_docs")
    seen: set[str] = set()
    for position, (doc, entry) in enumerate(zip(docs, metadata, strict=True)):
        if doc.id is not None and doc.id != entry.chunk_id:
            raise ValueError(f"metadata entry {position} is for chunk {entry.chunk_id!r}, the document is {doc.id!r}")
        if entry.chunk_id in seen:
            raise ValueError(f"chunk {entry.chunk_id!r} appears twice")
        seen.add(entry.chunk_id)
