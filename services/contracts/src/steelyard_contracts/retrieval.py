"""What the retriever takes. It answers with `SearchedMultimodalDoc`."""

from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from .base import Name, NonNegativeNumber, Number, PositiveInt, Probability, Request, Text
from .documents import Constraints
from .enums import HierarchicalMode, SearchType, Strategy
from .vectors import Vector

_REPLY_KEYS = frozenset({"object", "model", "data", "usage", "model_revision"})
_ENTRY_KEYS = frozenset({"object", "index", "embedding"})


def _text_or_none(value: Any) -> Any:
    return "" if value is None else value


def _vector_of_reply(value: Any) -> Any:
    """Take OPEA's other form of `embedding`, the embedding service's whole reply to one text."""
    if not (isinstance(value, dict) and "data" in value):
        return value
    data = value["data"]
    if not (value.keys() <= _REPLY_KEYS and isinstance(data, list) and len(data) == 1 and isinstance(data[0], dict)):
        raise ValueError("an embedding reply should have one entry in `data` and nothing that OpenAI's has not")
    if not data[0].keys() <= _ENTRY_KEYS or "embedding" not in data[0]:
        raise ValueError("the entry of an embedding reply should have `embedding`, `index` and `object`")
    return data[0]["embedding"]


class OpeaRetrievalFields(Request):
    """OPEA's fields for images and for its own ArangoDB graph search, which this retriever does not offer.

    A genuine payload carries them as null; any other value asks for something that would not happen, so it is refused.
    """

    url: None = None
    base64_image: None = None
    graph_name: None = None
    search_start: None = None
    search_mode: None = None
    num_centroids: None = None
    distance_strategy: None = None
    use_approx_search: None = None
    enable_traversal: None = None
    enable_summarizer: None = None
    traversal_max_depth: None = None
    traversal_max_returned: None = None
    traversal_score_threshold: None = None
    traversal_query: None = None


class RetrievalRequest(OpeaRetrievalFields):
    """A superset of OPEA's `EmbedDoc` and `RetrievalRequest`.

    `scopes` fails closed: None means the service's default scope, an empty list or an unknown scope is refused.
    `reranking_strategy` is the effective strategy that the gateway decided; chunk embeddings are returned only for
    `adaptive`. `score_threshold` is a cosine floor of search type `similarity_score_threshold`, `distance_threshold`
    (1 - cosine) one of `similarity_distance_threshold`; the other search types do not read them. `hierarchical_mode` is
    how search type `hierarchical` judges. `text` is also called `input`; only `hybrid` and the mode `thinking` read it,
    and OPEA may leave it out.
    """

    text: Annotated[Text, BeforeValidator(_text_or_none)] = Field(
        default="", validation_alias=AliasChoices("text", "input")
    )
    embedding: Annotated[Vector, BeforeValidator(_vector_of_reply)]
    search_type: SearchType = SearchType.SIMILARITY
    k: Annotated[int, Field(strict=True, ge=1, le=1000)] = 4
    distance_threshold: NonNegativeNumber | None = None
    fetch_k: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 20
    lambda_mult: Probability = 0.5
    score_threshold: Number = 0.2
    hierarchical_mode: HierarchicalMode = HierarchicalMode.QUICK
    constraints: Constraints | None = None
    scopes: list[Name] | None = None
    reranking_strategy: Strategy | None = None
    top_n: PositiveInt | None = None
    id: Text | None = None
    index_name: Text | None = None
    request_type: Literal["retrieval"] = "retrieval"
    downstream_black_list: list[Any] | None = None

    @model_validator(mode="after")
    def _has_what_it_searches_with(self) -> Self:
        thinking = self.hierarchical_mode is HierarchicalMode.THINKING
        reads_text = self.search_type is SearchType.HYBRID or (self.search_type is SearchType.HIERARCHICAL and thinking)
        if reads_text and not self.text.strip():
            raise ValueError(f"text: search type {self.search_type} needs one that is not blank")
        return self
