"""A double of Text Embeddings Inference: `/info` and `/embed` of a server with an embedding model."""

from typing import Any, ClassVar

from tests.harness.model_server_double import RefusalError, only_fields
from tests.harness.tei_double import TeiServerDouble

from .vectors import raw_vector, words

MODEL = "BAAI/bge-m3"


class TeiEmbedDouble(TeiServerDouble):
    """`weights` name the model's vectors. `alter` changes lists of numbers."""

    path = "/embed"

    model_id = MODEL
    model_sha = "5617a9f61b028005a4858fdac845db406aefb181"
    model_type: ClassVar[dict[str, Any]] = {"embedding": {"pooling": "cls"}}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.weights = "1"

    def rows(self, body: dict[str, Any]) -> list[Any]:
        optional = {"truncate": bool, "truncation_direction": str, "prompt_name": str, "normalize": bool}
        only_fields(body, {"inputs": list}, {**optional, "dimensions": int}, 422)
        texts = body["inputs"]
        if not texts or any(type(text) is not str for text in texts):
            raise RefusalError(413, "`inputs` cannot be empty")
        most = self.info["max_client_batch_size"]
        if len(texts) > most:
            raise RefusalError(422, f"batch size {len(texts)} > maximum allowed batch size {most}")
        if not body.get("truncate", self.info["auto_truncate"]) and any(words(text) > self.limit for text in texts):
            raise RefusalError(413, f"`inputs` must have less than {self.limit} tokens")
        return [raw_vector(text, self.weights) for text in texts]
