"""A double of Text Embeddings Inference: `/info`, `/health` and `/rerank` of a server with a reranking model."""

from typing import Any, ClassVar

from tests.harness.model_server_double import RefusalError, Row, only_fields
from tests.harness.tei_double import TeiServerDouble

from .scores import ranked, score, tokens

MODEL = "BAAI/bge-reranker-v2-m3"


class TeiDouble(TeiServerDouble):
    """A server with a reranking model."""

    model_id = MODEL
    model_sha = "953dc6f6f85a1b2dbfca4c34a2796e7dde08d41e"
    model_type: ClassVar[dict[str, Any]] = {"reranker": {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}}

    def rows(self, body: dict[str, Any]) -> list[Row]:
        optional = {"truncate": bool, "raw_scores": bool, "return_text": bool, "truncation_direction": str}
        only_fields(body, {"query": str, "texts": list}, optional, 422)
        texts = body["texts"]
        if not texts or any(type(text) is not str for text in texts):
            raise RefusalError(413, "`texts` cannot be empty")
        most = self.info["max_client_batch_size"]
        if len(texts) > most:
            raise RefusalError(413, f"batch size {len(texts)} > maximum allowed batch size {most}")
        if not body.get("truncate", self.info["auto_truncate"]):
            for text in texts:
                if tokens(body["query"], text) > self.limit:
                    raise RefusalError(413, f"`inputs` must have less than {self.limit} tokens")
        return ranked([{"index": i, "score": score(body["query"], text)} for i, text in enumerate(texts)], "score")
