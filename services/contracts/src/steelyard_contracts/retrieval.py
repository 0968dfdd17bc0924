"""What the retriever takes. It answers with `SearchedMultimodalDoc`."""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field

from .base import NonNegativeNumber, Number, PositiveInt, Probability, Request
from .documents import Constraints
from .enums import SearchType, Strategy
from .vectors import Vector


class RetrievalRequest(Request):
    """A superset of OPEA's `EmbedDoc` and `RetrievalRequest`.

    `scopes` fails closed: None means the service's default scope, an empty list or an unknown scope is refused.
    `reranking_strategy` is the effective strategy that the gateway decided; chunk embeddings are returned only for
    `adaptive`. `score_threshold` is a cosine floor of search type `similarity_score_threshold`, `distance_threshold`
    (1 - cosine) one of `similarity_distance_threshold`; the other search types do not read them.
    """

    text: str = Field(validation_alias=AliasChoices("text", "input"))
    embedding: Vector
    search_type: SearchType = SearchType.SIMILARITY
    k: Annotated[int, Field(strict=True, ge=1, le=1000)] = 4
    distance_threshold: NonNegativeNumber | None = None
    fetch_k: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 20
    lambda_mult: Probability = 0.5
    score_threshold: Number = 0.2
    constraints: Constraints | None = None
    scopes: list[str] | None = None
    reranking_strategy: Strategy | None = None
    top_n: PositiveInt | None = None
    id: str | None = None
    index_name: str | None = None
    request_type: Literal["retrieval"] = "retrieval"
    downstream_black_list: list[Any] | None = None
