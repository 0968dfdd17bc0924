"""Write `opea/*.json`: payloads made by the classes of the registry package `opea-comps`, and its replies' schemas.

    python tests/golden/make_opea_golden.py

The package has 109 dependencies, several of which contradict ours, so it is installed in a throw-away environment that
this script makes outside of the repository and in which it then runs itself. Run it again only to move to another
release: the files are the oracle of `test_golden_opea.py` and are never edited by hand.

OPEA sends a payload in two ways, and both are written:

* `microservice`: the JSON reply that FastAPI makes of a service's return value, absent values as null;
* `orchestrator`: what the megaservice posts to the next service, the top level's nulls removed.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

PACKAGE = "opea-comps==1.5"
FOLDER = Path(__file__).parent / "opea"
INSIDE = "--inside"


def _run_in_throw_away_environment() -> None:
    with tempfile.TemporaryDirectory(prefix="opea-golden-") as folder:
        python = str(Path(folder) / "bin" / "python")
        uv = shutil.which("uv")
        if uv is None:
            venv.create(folder, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
        else:
            subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
            subprocess.run([uv, "pip", "install", "--quiet", "--python", python, PACKAGE], check=True)
        subprocess.run([python, "-W", "ignore", __file__, INSIDE], check=True)


def _cases() -> list[tuple[str, str, Any]]:
    """File name, our endpoint and OPEA object of every payload."""
    from comps.cores.proto import api_protocol as api
    from comps.cores.proto import docarray as doc

    identity = "0123456789abcdef0123456789abcdef"
    vector = [0.25, -0.5, 0.125, 1.0]
    texts = [
        doc.TextDoc(id="chunk-1", text="The pump is rated at 40 bar."),
        doc.TextDoc(id="chunk-2", text="ポンプの定格圧力は40バールです。"),
    ]
    ours = [
        {
            "chunk_id": text.id,
            "document_id": "handbook",
            "revision": "r1",
            "source": "handbook.md",
            "char_start": 0,
            "char_end": len(text.text),
            "scope": "public",
        }
        for text in texts
    ]
    with_vectors = [{**entry, "chunk_embedding": vector} for entry in ours]
    query = "What pressure is the pump rated at?"
    turns = [
        {"role": "system", "content": "Answer in one sentence."},
        {"role": "user", "content": query},
    ]
    parts = [{"role": "user", "content": [{"type": "text", "text": query}]}]
    hits = [api.RetrievalResponseData(text=text.text, metadata=entry) for text, entry in zip(texts, ours, strict=True)]
    embedded = api.EmbeddingResponse(
        model="all-minilm-l6-v2",
        data=[api.EmbeddingResponseData(index=0, embedding=vector)],
        usage=api.UsageInfo(prompt_tokens=9, total_tokens=9),
    )
    return [
        ("TextDoc", "/v1/embeddings", doc.TextDoc(id=identity, text=query)),
        ("TextDoc-texts", "/v1/embeddings", doc.TextDoc(id=identity, text=[query, "Second text."])),
        ("EmbeddingRequest", "/v1/embeddings", api.EmbeddingRequest(input=query)),
        (
            "EmbeddingRequest-base64",
            "/v1/embeddings",
            api.EmbeddingRequest(input=[query, "x"], model="all-minilm-l6-v2", encoding_format="base64", user="u1"),
        ),
        ("EmbeddingRequest-tokens", "/v1/embeddings", api.EmbeddingRequest(input=[101, 2054, 102])),
        ("EmbedDoc", "/v1/retrieval", doc.EmbedDoc(id=identity, text=query, embedding=vector)),
        (
            "EmbedDoc-overrides",
            "/v1/retrieval",
            doc.EmbedDoc(
                id=identity,
                text=query,
                embedding=vector,
                search_type="mmr",
                k=1,
                fetch_k=1,
                lambda_mult=0,
                score_threshold=0,
                distance_threshold=0,
            ),
        ),
        ("EmbedDoc-texts", "/v1/retrieval", doc.EmbedDoc(id=identity, text=[query, "x"], embedding=[vector, vector])),
        (
            "EmbedDoc-filter",
            "/v1/retrieval",
            doc.EmbedDoc(id=identity, text=query, embedding=vector, constraints={"author": "someone"}),
        ),
        ("EmbedMultimodalDoc", "/v1/retrieval", doc.EmbedMultimodalDoc(id=identity, text=query, embedding=vector)),
        ("RetrievalRequest", "/v1/retrieval", api.RetrievalRequest(embedding=vector, input=query)),
        ("RetrievalRequest-no-input", "/v1/retrieval", api.RetrievalRequest(embedding=vector)),
        ("RetrievalRequest-reply", "/v1/retrieval", api.RetrievalRequest(embedding=embedded, input=query)),
        ("RetrievalRequestArangoDB", "/v1/retrieval", api.RetrievalRequestArangoDB(embedding=vector, input=query)),
        (
            "RetrievalRequestArangoDB-graph",
            "/v1/retrieval",
            api.RetrievalRequestArangoDB(embedding=vector, input=query, graph_name="GRAPH", enable_traversal=True),
        ),
        ("SearchedDoc", "/v1/reranking", doc.SearchedDoc(id=identity, retrieved_docs=texts, initial_query=query)),
        (
            "SearchedDoc-texts",
            "/v1/reranking",
            doc.SearchedDoc(id=identity, retrieved_docs=[doc.TextDoc(id="c", text=["a", "b"])], initial_query=query),
        ),
        (
            "SearchedMultimodalDoc",
            "/v1/reranking",
            doc.SearchedMultimodalDoc(
                id=identity, retrieved_docs=texts, initial_query=query, top_n=2, metadata=with_vectors
            ),
        ),
        (
            "SearchedMultimodalDoc-empty",
            "/v1/reranking",
            doc.SearchedMultimodalDoc(id=identity, retrieved_docs=[], initial_query=query, metadata=[]),
        ),
        (
            "SearchedMultimodalDoc-foreign-metadata",
            "/v1/reranking",
            doc.SearchedMultimodalDoc(
                id=identity,
                retrieved_docs=texts,
                initial_query=query,
                metadata=[{"source": "a.md"}, {"source": "b.md"}],
            ),
        ),
        (
            "SearchedMultimodalDoc-shifted-metadata",
            "/v1/reranking",
            doc.SearchedMultimodalDoc(id=identity, retrieved_docs=texts, initial_query=query, metadata=ours[1:]),
        ),
        ("RerankingRequest", "/v1/reranking", api.RerankingRequest(input=query, retrieved_docs=hits, top_n=2)),
        (
            "RerankingRequest-bare",
            "/v1/reranking",
            api.RerankingRequest(
                input=query, retrieved_docs=[api.RetrievalResponseData(text=text.text) for text in texts]
            ),
        ),
        (
            "RerankingRequest-strings",
            "/v1/reranking",
            api.RerankingRequest(input=query, retrieved_docs=[text.text for text in texts]),
        ),
        (
            "RerankingRequest-foreign-metadata",
            "/v1/reranking",
            api.RerankingRequest(
                input=query, retrieved_docs=[api.RetrievalResponseData(text="a", metadata={"source": "a.md"})]
            ),
        ),
        ("ChatCompletionRequest", "/v1/chatqna", api.ChatCompletionRequest(messages=query)),
        ("ChatCompletionRequest-turns", "/v1/chatqna", api.ChatCompletionRequest(messages=turns, stream=True)),
        ("ChatCompletionRequest-parts", "/v1/chatqna", api.ChatCompletionRequest(messages=parts)),
        (
            "ChatCompletionRequest-zeros",
            "/v1/chatqna",
            api.ChatCompletionRequest(
                messages=query, temperature=0, top_p=0, score_threshold=0, lambda_mult=0, frequency_penalty=0
            ),
        ),
        (
            "ChatCompletionRequest-image",
            "/v1/chatqna",
            api.ChatCompletionRequest(
                messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///a.png"}}]}]
            ),
        ),
        (
            "ChatCompletionRequest-documents",
            "/v1/chatqna",
            api.ChatCompletionRequest(messages=query, documents=["Text that the caller found."]),
        ),
        ("LLMParamsDoc", "/v1/chatqna", doc.LLMParamsDoc(id=identity, query=query)),
        (
            "LLMParamsDoc-overrides",
            "/v1/chatqna",
            doc.LLMParamsDoc(id=identity, query=query, max_tokens=200, temperature=0, top_p=0, stream=False),
        ),
        (
            "LLMParamsDoc-documents",
            "/v1/chatqna",
            doc.LLMParamsDoc(id=identity, query=query, documents=[text.text for text in texts]),
        ),
    ]


_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, -1, 0.0, 0.25, 1.0, 1.5, -0.5, "", "text", "auto", "none", "chat", "mmr", [], ["text"],
    [1], {}, {"text": 0.5}, [{"text": "text"}],
)  # fmt: skip


def _fields() -> dict[str, Any]:
    """For each class of chat requests: its defaults, and of each field those of `_VALUES` that it accepts."""
    from comps.cores.proto import api_protocol as api
    from comps.cores.proto import docarray as doc
    from fastapi.encoders import jsonable_encoder
    from pydantic import ValidationError

    def accepts(model: Any, body: dict[str, Any]) -> bool:
        try:
            model.model_validate(body)
        except (ValidationError, ValueError, TypeError):
            return False
        return True

    written = {}
    for name, model, question in (
        ("ChatCompletionRequest", api.ChatCompletionRequest, {"messages": "q"}),
        ("LLMParams", doc.LLMParams, {}),
    ):
        others = [field for field in model.model_fields if field not in ("messages", "id")]
        defaults = jsonable_encoder(model.model_validate(question))
        values = {field: [one for one in _VALUES if accepts(model, {**question, field: one})] for field in others}
        written[name] = {"defaults": {field: defaults.get(field) for field in others}, "accepted": values}
    return written


def _schemas() -> dict[str, Any]:
    """What OPEA's readers accept of each endpoint's reply, as JSON Schema without its prose."""
    from comps.cores.proto import api_protocol as api
    from comps.cores.proto import docarray as doc

    replies = {
        "EmbedDoc": doc.EmbedDoc,
        "EmbeddingResponse": api.EmbeddingResponse,
        "SearchedMultimodalDoc": doc.SearchedMultimodalDoc,
        "RetrievalResponse": api.RetrievalResponse,
        "RerankedDoc": doc.RerankedDoc,
        "RerankingResponse": api.RerankingResponse,
        "ChatCompletionResponse": api.ChatCompletionResponse,
        "ChatCompletionStreamResponse": api.ChatCompletionStreamResponse,
    }
    return {name: _without_prose(model.model_json_schema()) for name, model in replies.items()}


def _without_prose(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_prose(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    prose = {key for key in ("title", "description", "example") if isinstance(schema.get(key), str)}
    return {key: _without_prose(item) for key, item in schema.items() if key not in prose}


def _sent_as(payload: Any) -> dict[str, Any]:
    """Both ways in which OPEA puts an object on the wire."""
    from fastapi.encoders import jsonable_encoder

    reply = jsonable_encoder(payload)
    return {"microservice": reply, "orchestrator": {key: value for key, value in reply.items() if value is not None}}


def _write(name: str, content: Any) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def _write_all() -> None:
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name, endpoint, payload in _cases():
        module = type(payload).__module__
        _write(
            f"request-{name}",
            {
                "made_by": f"{PACKAGE} {module}.{type(payload).__qualname__}",
                "endpoint": endpoint,
                "sent_as": _sent_as(payload),
            },
        )
    for name, content in _fields().items():
        _write(f"fields-{name}", {"made_by": f"{PACKAGE} {name}", **content})
    for name, schema in _schemas().items():
        _write(f"reply-{name}", {"made_by": f"{PACKAGE} {name}", "schema": schema})


if __name__ == "__main__":
    if INSIDE in sys.argv[1:]:
        _write_all()
    else:
        _run_in_throw_away_environment()
