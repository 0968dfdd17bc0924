"""Stub neighbours of the gateway for its benchmark: fixed replies, as quick as HTTP allows, in their own process.

    python -m tests.bench.gateway_stubs [MILLISECONDS [TOKENS]]

The model's first byte comes after that many milliseconds, and its answer has that many tokens.
"""

import asyncio
import base64
import json
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

DIMENSION = 384
CANDIDATES = 20
TOKENS = 64
_ARGUMENTS = [int(value) for value in sys.argv[1:]] if __name__ == "__main__" else []
FIRST_BYTE_S = _ARGUMENTS[0] / 1000 if _ARGUMENTS else 0.0
VECTOR = base64.b64encode(struct.pack(f"<{DIMENSION}f", *([1.0] + [0.0] * (DIMENSION - 1)))).decode()
SENTENCE = "The approved seal for pump {n} is ZQ-{n} and its cover bolts are tightened to {n} Nm in two passes. "


def text(number: int) -> str:
    return SENTENCE.format(n=number) * 6


def metadata(number: int) -> dict[str, object]:
    return {
        "chunk_id": f"c{number}",
        "document_id": "d",
        "revision": "r",
        "source": "handbook.md",
        "char_start": 0,
        "char_end": len(text(number)),
        "scope": "public",
        "scores": {"cosine": 1 - number / 100},
    }


def retrieval(adaptive: bool) -> dict[str, object]:
    entries = [metadata(i) | ({"chunk_embedding": VECTOR} if adaptive else {}) for i in range(CANDIDATES)]
    docs = [{"id": f"c{i}", "text": text(i)} for i in range(CANDIDATES)]
    return {"retrieved_docs": docs, "initial_query": "q", "top_n": 3, "metadata": entries, "score_kind": "cosine"}


def reranking() -> dict[str, object]:
    kept = [{"id": f"c{i}", "text": text(i), "score": 0.9 - i / 100, "rank": i + 1} for i in range(3)]
    ledger = [
        {
            "chunk_id": f"c{i}",
            "document_id": "d",
            "retrieval_rank": i + 1,
            "scores": {"cosine": 1 - i / 100, "rerank": 0.9 - i / 100},
            "fate": "sent" if i < 3 else "dropped",
            "reason": "selected" if i < 3 else "over_top_n",
            **({"rank": i + 1} if i < 3 else {}),
        }
        for i in range(CANDIDATES)
    ]
    return {
        "outcome": "ok",
        "policy_hash": "stub",
        "strategy": "slice",
        "score_kind": "rerank",
        "initial_query": "q",
        "reranked_docs": kept,
        "ledger": ledger,
    }


EMBEDDED = json.dumps(
    {
        "object": "list",
        "model": "stub",
        "data": [{"index": 0, "embedding": VECTOR}],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }
).encode()
RETRIEVED = {adaptive: json.dumps(retrieval(adaptive)).encode() for adaptive in (False, True)}
RERANKED = json.dumps(reranking()).encode()
ANSWER_TOKENS = _ARGUMENTS[1] if len(_ARGUMENTS) > 1 else TOKENS
WORDS = (SENTENCE.format(n=0) * 40).split(" ")[:ANSWER_TOKENS]
EVENTS = [
    b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": word + " "}}]}).encode() + b"\n\n"
    for word in WORDS
]
ENDING = (
    b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
    b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 64, "total_tokens": 67}}\n\n'
    b"data: [DONE]\n\n"
)


def fixed(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


async def embeddings(_request: web.Request) -> web.Response:
    return fixed(EMBEDDED)


async def retrieve(request: web.Request) -> web.Response:
    return fixed(RETRIEVED[(await request.json()).get("reranking_strategy") == "adaptive"])


async def rerank(_request: web.Request) -> web.Response:
    return fixed(RERANKED)


async def ready(_request: web.Request) -> web.Response:
    return fixed(b'{"service": "stub", "ready": true, "dependencies": []}')


async def template(_request: web.Request) -> web.Response:
    return fixed(b'{"prompt": "<s> \\n<one-7f3a> \\n</s><s> \\n<two-7f3a> \\n</s>"}')


async def tokenize(_request: web.Request) -> web.Response:
    return fixed(b'{"tokens": [1, 2, 3]}')


async def chat(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(FIRST_BYTE_S)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in EVENTS:
        await response.write(event)
        await asyncio.sleep(0)
    await response.write(ENDING)
    return response


def application(answering: Callable[[web.Request], Awaitable[web.StreamResponse]] = chat) -> web.Application:
    """All stubs in one; `answering` is the model."""
    app = web.Application(client_max_size=2**26)
    for path, handler in {
        "/v1/embeddings": embeddings,
        "/v1/retrieval": retrieve,
        "/v1/reranking": rerank,
        "/apply-template": template,
        "/tokenize": tokenize,
        "/v1/chat/completions": answering,
    }.items():
        app.router.add_post(path, handler)
    app.router.add_get("/ready", ready)
    app.router.add_get("/v1/models", ready)
    return app


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[int]:
    """Serve `app` on a free port, which is given; a handler whose client leaves is cancelled."""
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def main() -> None:
    """Serve all stubs on one free port and print it."""

    async def serve() -> None:
        async with served(application()) as port:
            sys.stdout.write(f"{port}\n")
            sys.stdout.flush()
            await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
