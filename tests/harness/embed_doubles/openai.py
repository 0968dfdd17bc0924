"""A double of a server of OpenAI's embeddings, as vLLM is one: `/v1/embeddings`, and `/v1/models` with a length."""

from typing import Any

from aiohttp import web

from tests.harness.model_server_double import ModelServerDouble, RefusalError, only_fields

from .vectors import raw_vector, words

MODEL = "text-embedding-double"
KEY = "sk-embedding-double"


class OpenAiEmbedDouble(ModelServerDouble):
    """Answers with rows of `data`; `truncates` cuts long texts and says so by its count of tokens alone.

    `listing` is what `/v1/models` says, None for servers without that path; `served` is what a reply calls the model.
    """

    path = "/v1/embeddings"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.weights = "1"
        self.served = MODEL
        self.truncates = False
        self.counts = True
        self.listing: Any = {"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": self.limit}]}

    def add_routes(self, app: web.Application) -> None:
        app.router.add_get("/v1/models", self._models)

    def authorise(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            raise RefusalError(401, "Incorrect API key provided")

    def rows(self, body: dict[str, Any]) -> list[Any]:
        optional = {"encoding_format": str, "dimensions": int, "user": str}
        only_fields(body, {"model": str, "input": list}, optional, 400)
        if body["model"] != MODEL:
            raise RefusalError(404, f"The model `{body['model']}` does not exist")
        texts = body["input"]
        if not texts or any(type(text) is not str or not text for text in texts):
            raise RefusalError(400, "'$.input' is invalid")
        if not self.truncates and any(words(text) > self.limit for text in texts):
            raise RefusalError(400, f"This model's maximum context length is {self.limit} tokens")
        return [
            {"object": "embedding", "index": i, "embedding": raw_vector(text, self.weights)}
            for i, text in enumerate(texts)
        ]

    def reply(self, body: dict[str, Any], rows: Any) -> Any:
        value = {"object": "list", "data": rows, "model": self.served}
        if not self.counts:
            return value
        tokens = sum(min(words(text), self.limit if self.truncates else words(text)) for text in body["input"])
        return {**value, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}

    def error(self, refusal: RefusalError) -> web.Response:
        error = {"message": refusal.message, "type": "invalid_request_error", "param": None, "code": None}
        return web.json_response({"error": error}, status=refusal.status)

    async def _models(self, request: web.Request) -> web.Response:
        self.looks += 1
        try:
            self.authorise(request)
        except RefusalError as refusal:
            return self.error(refusal)
        if self.listing is None:
            return web.json_response({"detail": "Not Found"}, status=404)
        return web.json_response(self.listing)
