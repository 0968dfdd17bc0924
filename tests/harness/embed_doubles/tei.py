"""A double of Text Embeddings Inference: `/info` and `/embed` of a server with an embedding model."""

from typing import Any

from aiohttp import web

from tests.harness.model_server_double import ModelServerDouble, RefusalError, only_fields

from .vectors import raw_vector, words

MODEL = "BAAI/bge-m3"


class TeiEmbedDouble(ModelServerDouble):
    """`info` is what `/info` says; `weights` name the model's vectors. `alter` changes lists of numbers."""

    path = "/embed"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.weights = "1"
        self.info: dict[str, Any] = {
            "model_id": MODEL,
            "model_sha": "5617a9f61b028005a4858fdac845db406aefb181",
            "model_dtype": "float16",
            "model_type": {"embedding": {"pooling": "cls"}},
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

    def reply(self, body: dict[str, Any], rows: Any) -> Any:
        return rows

    def error(self, refusal: RefusalError) -> web.Response:
        return web.json_response({"error": refusal.message, "error_type": "Validation"}, status=refusal.status)

    async def _info(self, _request: web.Request) -> web.Response:
        self.looks += 1
        return web.json_response(self.info)
