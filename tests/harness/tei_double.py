"""What every double of Text Embeddings Inference has: `/info`, and errors as TEI words them."""

from typing import Any, ClassVar

from aiohttp import web

from tests.harness.model_server_double import ModelServerDouble, RefusalError


class TeiServerDouble(ModelServerDouble):
    """`info` is what `/info` says; `model_id`, `model_sha` and `model_type` are the model's."""

    model_id: str
    model_sha: str
    model_type: ClassVar[dict[str, Any]]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.info: dict[str, Any] = {
            "model_id": self.model_id,
            "model_sha": self.model_sha,
            "model_dtype": "float16",
            "model_type": self.model_type,
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

    def reply(self, body: dict[str, Any], rows: Any) -> Any:
        return rows

    def error(self, refusal: RefusalError) -> web.Response:
        return web.json_response({"error": refusal.message, "error_type": "Validation"}, status=refusal.status)

    async def _info(self, _request: web.Request) -> web.Response:
        self.looks += 1
        return web.json_response(self.info)
