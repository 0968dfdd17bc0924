"""A double of an external OpenAI-compatible model server with llama.cpp's token endpoints, spoken to over real HTTP.

It follows the documented wire contract of llama.cpp's server. Its tokens are words, which is enough for budgets to be
checked exactly: `usage.prompt_tokens` equals what its own `/tokenize` says of the templated prompt.
"""

import asyncio
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from .in_thread import InThread, served

Messages = list[dict[str, str]]

_CONTEXT = re.compile(r"^\[(\d+)\] (.*?)(?=^\[\d+\] |^</context>)", re.S | re.M)


def evidence_of(messages: Messages) -> list[str]:
    """The numbered evidence texts in a prompt of the gateway, in order."""
    return [match.group(2).rstrip("\n") for match in _CONTEXT.finditer(messages[-1]["content"])]


def first_sentence_of_evidence(messages: Messages) -> str:
    """What a faithful model could say: the first sentence of the first piece of evidence."""
    evidence = evidence_of(messages)
    if not evidence:
        return "There is no context."
    return re.split(r"(?<=[.!?。])\s", evidence[0].strip(), maxsplit=1)[0]


@dataclass
class LlmDouble:
    """A running double. Set `answer` to decide what it says, `fault` to make it misbehave; `requests` are what came.

    One that does not tokenize answers 404 to both token endpoints, as many hosted servers do. After the piece
    `pause_after` it says no more until `resumed` is set.
    """

    url: str = ""
    answer: Callable[[Messages], str] = first_sentence_of_evidence
    fault: str | None = None
    tokenizes: bool = True
    pause_after: str | None = None
    resumed: threading.Event = field(default_factory=threading.Event)
    requests: list[dict[str, object]] = field(default_factory=list)
    cancelled: threading.Event = field(default_factory=threading.Event)
    _served: InThread | None = None

    def start(self) -> "LlmDouble":
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/apply-template", self._template)
        app.router.add_post("/tokenize", self._tokenize)
        app.router.add_post("/v1/chat/completions", self._chat)
        self._served = InThread(served(app, handler_cancellation=True))
        self.url = self._served.url
        return self

    def stop(self) -> None:
        assert self._served is not None
        self._served.stop()

    def reset(self) -> None:
        self.answer, self.fault, self.pause_after = first_sentence_of_evidence, None, None
        self.resumed.clear()
        self.requests.clear()
        self.cancelled.clear()

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "double", "object": "model"}]})

    async def _template(self, request: web.Request) -> web.Response:
        if not self.tokenizes:
            raise web.HTTPNotFound
        return web.json_response({"prompt": templated((await request.json())["messages"])})

    async def _tokenize(self, request: web.Request) -> web.Response:
        if not self.tokenizes:
            raise web.HTTPNotFound
        return web.json_response({"tokens": tokens((await request.json())["content"])})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        if self.fault == "503":
            return web.json_response({"error": {"message": "busy", "code": 503}}, status=503)
        if self.fault == "html":
            return web.Response(text="<html>proxy</html>", content_type="text/html")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        text = self.answer(body["messages"])
        pieces = re.findall(r"\s*\S+", text) or [text]
        try:
            for number, piece in enumerate(pieces):
                if self.fault == "cut" and number == len(pieces) // 2:
                    request.transport.abort()
                    return response
                if self.fault == "error_event" and number == len(pieces) // 2:
                    await response.write(b'data: {"error": {"message": "out of memory"}}\n\n')
                    return response
                if self.fault == "hang" and number == 1:
                    await asyncio.Event().wait()
                await response.write(_event({"choices": [{"index": 0, "delta": {"content": piece}}]}))
                if piece.strip() == self.pause_after:
                    await asyncio.to_thread(self.resumed.wait, 60)
        except (asyncio.CancelledError, ConnectionResetError):
            self.cancelled.set()
            raise
        prompt, completion = len(tokens(templated(body["messages"]))), len(pieces)
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        await response.write(_event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
        await response.write(_event({"choices": [], "usage": usage}))
        await response.write(b"data: [DONE]\n\n")
        return response


def templated(messages: Messages) -> str:
    """The double's chat template."""
    return "".join(f"<|{one['role']}|> {one['content']} <|end|> " for one in messages) + "<|assistant|>"


def tokens(text: str) -> list[int]:
    """The double's tokenizer: one token per word or mark."""
    return [hash(word) % 50_000 for word in re.findall(r"\w+|[^\w\s]", text)]


def _event(value: dict[str, object]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
