"""A double of Pinecone's inference API: `POST /rerank` and `GET /models/{name}`."""

from typing import Any

from aiohttp import web

from tests.harness.model_server_double import ModelServerDouble, RefusalError, Row, only_fields

from .scores import ranked, score, tokens

MODEL = "bge-reranker-v2-m3"
KEY = "pc-key-0123456789"


class PineconeDouble(ModelServerDouble):
    """`served` is the model that answers, whichever was asked for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.served = MODEL
        self.model: dict[str, Any] = {
            "model": MODEL,
            "short_description": "a reranker",
            "type": "rerank",
            "supported_parameters": [],
            "modality": "text",
            "max_sequence_length": self.limit,
            "max_batch_size": 100,
            "provider_name": "BAAI",
        }

    def add_routes(self, app: web.Application) -> None:
        app.router.add_get("/models/{name}", self._model)

    def authorise(self, request: web.Request) -> None:
        if request.headers.get("Api-Key") != KEY or "X-Pinecone-Api-Version" not in request.headers:
            raise RefusalError(401, "Invalid API Key")

    def rows(self, body: dict[str, Any]) -> list[Row]:
        optional = {"top_n": int, "return_documents": bool, "rank_fields": list, "parameters": dict}
        only_fields(body, {"model": str, "query": str, "documents": list}, optional, 400)
        if body["model"] != MODEL:
            raise RefusalError(404, "model not found")
        documents = body["documents"]
        if not 1 <= len(documents) <= 100:
            raise RefusalError(400, f"the number of documents should be from 1 to 100, it is {len(documents)}")
        if any(set(one) != {"text"} or not one["text"] for one in documents):
            raise RefusalError(400, "documents should have a text")
        if set(body.get("parameters", {})) - {"truncate"} or body["parameters"]["truncate"] not in ("NONE", "END"):
            raise RefusalError(400, "unknown parameters")
        if body["parameters"]["truncate"] == "NONE":
            for one in documents:
                if tokens(body["query"], one["text"]) > self.limit:
                    raise RefusalError(400, f"request exceeds the maximum of {self.limit} tokens per pair")
        rows = [{"index": i, "score": score(body["query"], one["text"])} for i, one in enumerate(documents)]
        return ranked(rows, "score")[: body.get("top_n", len(rows))]

    def reply(self, body: dict[str, Any], rows: Any) -> Any:
        return {"model": self.served, "data": rows, "usage": {"rerank_units": 1}}

    def error(self, refusal: RefusalError) -> web.Response:
        code = "UNAUTHENTICATED" if refusal.status == 401 else "INVALID_ARGUMENT"
        value = {"error": {"code": code, "message": refusal.message}, "status": refusal.status}
        return web.json_response(value, status=refusal.status)

    async def _model(self, request: web.Request) -> web.Response:
        self.looks += 1
        if request.match_info["name"] != self.model["model"]:
            return self.error(RefusalError(404, "no such model"))
        return web.json_response(self.model)
