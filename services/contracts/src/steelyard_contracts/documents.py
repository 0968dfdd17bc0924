"""OPEA's documents: what embedding, retriever and reranker exchange, with the traps of the originals closed.

OPEA's `metadata` is a list parallel to `retrieved_docs`; here both have the same length and every entry repeats its
chunk id, so that an entry can not shift. OPEA drops `embedding`, `chunk_embeddings` and `reranking_strategy` as
unknown; here they are declared.
"""

from typing import Any, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from .base import Name, NonNegativeInt, NonNegativeNumber, Number, PositiveInt, Probability, Request, Response, Text
from .enums import HierarchicalMode, Outcome, ScoreKind, SearchType, TreeStop
from .errors import ErrorCode
from .ledger import Degradation
from .vectors import Vector


class TextDoc(Request):
    """A text with its identity. `downstream_black_list` is OPEA's bookkeeping and has no effect here."""

    id: Name | None = None
    text: Text
    downstream_black_list: list[Any] | None = None


class Constraints(Request):
    """A typed filter on candidates; every list given narrows the search, an empty list matches nothing."""

    document_ids: list[Name] | None = None
    sources: list[Text] | None = None


class EmbedDoc(Request):
    """OPEA's `EmbedDoc`: a text with its vector and how to search with it."""

    id: Text | None = None
    text: Text | list[Text]
    embedding: Vector | list[Vector]
    search_type: SearchType = SearchType.SIMILARITY
    k: PositiveInt = 4
    distance_threshold: NonNegativeNumber | None = None
    fetch_k: PositiveInt = 20
    lambda_mult: Probability = 0.5
    score_threshold: Number = 0.2
    constraints: Constraints | None = None
    index_name: Text | None = None
    downstream_black_list: list[Any] | None = None


class TreeParent(Request):
    """A document or section through which a hierarchical search came to a candidate, with its blended score."""

    node_id: Name
    title: Text
    score: Number


class CandidateMetadata(Request):
    """What is known about one candidate besides its text.

    `char_start` and `char_end` are a half-open span in Unicode code points of the stored document text; `page` and
    `page_end` are the pages, from 1, on which that span begins and ends. `parents` are the way of a hierarchical
    search, from where it set in down to `parent_id`; an empty way means that the document was stored without a tree and
    was found by its chunks, None that the search was not hierarchical.
    """

    chunk_id: Name
    document_id: Name
    revision: Text
    source: Text
    title: Text = ""
    section: Text = ""
    char_start: NonNegativeInt
    char_end: NonNegativeInt
    page: PositiveInt | None = None
    page_end: PositiveInt | None = None
    parent_id: Name | None = None
    scope: Name
    tokens: NonNegativeInt | None = None
    scores: dict[ScoreKind, Number] = Field(default_factory=dict)
    chunk_embedding: Vector | None = None
    parents: list[TreeParent] | None = None

    @model_validator(mode="after")
    def _span_is_ordered(self) -> Self:
        if self.char_end < self.char_start:
            raise ValueError("char_end lies before char_start")
        return self


class TreeReport(Response):
    """How a hierarchical search went.

    `mode` is the one that the scores are of: `quick` also where a search that was to be `thinking` could not rerank,
    which `degraded` then says. `rounds` counts how often it went a level down, `reranked` the texts that were judged.
    """

    mode: HierarchicalMode
    rounds: NonNegativeInt
    reranked: NonNegativeInt
    stopped: TreeStop


class SearchedDoc(Response):
    """OPEA's `SearchedDoc`."""

    id: Text | None = None
    retrieved_docs: list[TextDoc]
    initial_query: Text
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
    tree: TreeReport | None = None

    @model_validator(mode="after")
    def _metadata_is_aligned(self) -> Self:
        check_alignment(self.retrieved_docs, self.metadata)
        return self


class TokenUsage(Response):
    """OpenAI's usage block of an embedding."""

    prompt_tokens: NonNegativeInt
    total_tokens: NonNegativeInt


def check_alignment(docs: list[TextDoc], metadata: list[CandidateMetadata]) -> None:
    """Raise the validation error `metadata_misaligned` unless `metadata` describes `docs` one by one.

    There is one entry per document, it repeats the document's id, and no id occurs twice. The messages give positions
    and never an id, because they reach whoever sent the documents.
    """
    if len(docs) != len(metadata):
        raise misaligned(
            "metadata has {entries} entries for {docs} retrieved_docs", entries=len(metadata), docs=len(docs)
        )
    seen: dict[str, int] = {}
    for position, (doc, entry) in enumerate(zip(docs, metadata, strict=True)):
        if doc.id is not None and doc.id != entry.chunk_id:
            raise misaligned("metadata entry {position} is for another chunk than its document", position=position)
        first = seen.setdefault(entry.chunk_id, position)
        if first != position:
            raise misaligned("entries {first} and {position} are of the same chunk", first=first, position=position)


def misaligned(message: str, **numbers: int) -> PydanticCustomError:
    """The validation error for metadata that does not belong to its documents; `numbers` fill in `message`."""
    return PydanticCustomError(ErrorCode.METADATA_MISALIGNED.value, message, dict(numbers))
