"""A double of Text Embeddings Inference: `/info`, `/health` and `/rerank` of a server with a reranking model."""

from typing import Any

from aiohttp import web

from tests.harness.model_server_double import ModelServerDouble, RefusalError, Row, only_fields

from .scores import ranked, score, tokens

MODEL = "BAAI/bge-reranker-v2-m3"


class TeiDouble(ModelServerDouble):
    """`info` is what `/info` says; `truncating` servers would cut, if a request did not forbid it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.info: dict[str, Any] = {
            "model_id": MODEL,
            "model_sha": "953dc6f6f85a1b2dbfca4c34a2796e7dde08d41e",
            "model_dtype": "float16",
            "model_type": {"reranker": {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}},
            "max_concurrent_requests": 512,
            "max_input_length": self.limit,
            "max_batch_tokens": 16384,
            "max_batch_requests": None,
            "max_client_batch_size": 32,
            "auto_truncate": False,
            "tokenization_workers": 2,
            "version": "1.8.2",
            "sha": None,
            "docker_label": None,
        }

    def add_routes(self, app: web.Application) -> None:
        app.router.add_get("/info", self._info)

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

    def reply(self, body: dict[str, Any], rows: Any) -> Any:
        return rows

    def error(self, refusal: RefusalError) -> web.Response:
        return web.json_response({"error": refusal.message, "error_type": "Validation"}, status=refusal.status)

    async def _info(self, _request: web.Request) -> web.Response:
        self.looks += 1
        return web.json_response(self.info)
