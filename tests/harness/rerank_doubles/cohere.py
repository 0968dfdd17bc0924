"""A double of a server of the Cohere v2 dialect that, like vLLM, refuses what it can not read whole."""

from typing import Any

from aiohttp import web

from tests.harness.model_server_double import ModelServerDouble, RefusalError, Row, only_fields

from .scores import ranked, score, tokens

MODEL = "rerank-v3.5"
KEY = "co-key-0123456789"


class CohereDouble(ModelServerDouble):
    """`documents` is the type of document that it takes, `scaled` the map from scores to what it sends."""

    path = "/v2/rerank"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.documents: type = str
        self.takes_top_n = True
        self.scaled = float
        self.returned_model: str | None = None

    def add_routes(self, app: web.Application) -> None:
        app.router.add_get("/v1/models", self._models)

    def authorise(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            raise RefusalError(401, "invalid api token")

    def rows(self, body: dict[str, Any]) -> list[Row]:
        optional = {"top_n": int, "max_tokens_per_doc": int, "priority": int}
        if not self.takes_top_n:
            del optional["top_n"]
        only_fields(body, {"model": str, "query": str, "documents": list}, optional, 422)
        if body["model"] != MODEL:
            raise RefusalError(404, "model not found")
        documents = body["documents"]
        if not documents or any(type(one) is not self.documents for one in documents):
            raise RefusalError(400, "documents should be strings")
        if self.documents is dict and any(set(one) != {"text"} for one in documents):
            raise RefusalError(400, "documents should have a text")
        texts = [one if isinstance(one, str) else one["text"] for one in documents]
        if not body.get("top_n", 1) >= 1:
            raise RefusalError(400, "top_n should be at least 1")
        for text in texts:
            if tokens(body["query"], text) > self.limit:
                raise RefusalError(400, f"the maximum context length is {self.limit} tokens")
        rows = [
            {"index": i, "relevance_score": self.scaled(score(body["query"], text))} for i, text in enumerate(texts)
        ]
        return ranked(rows, "relevance_score")[: body.get("top_n", len(rows))]

    def reply(self, body: dict[str, Any], rows: Any) -> Any:
        value = {"id": "double", "results": rows, "meta": {"api_version": {"version": "2"}}}
        return value if self.returned_model is None else {**value, "model": self.returned_model}

    def error(self, refusal: RefusalError) -> web.Response:
        return web.json_response({"message": refusal.message}, status=refusal.status)

    async def _models(self, request: web.Request) -> web.Response:
        self.looks += 1
        self.authorise(request)
        return web.json_response({"models": [{"name": MODEL, "endpoints": ["rerank"]}]})
