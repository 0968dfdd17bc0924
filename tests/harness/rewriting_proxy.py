"""A proxy between two of our services that rewrites JSON replies, to bring faults of the data onto a real wire."""

from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp import web

from .in_thread import InThread, served

Rewrite = Callable[[Any], Any]


class RewritingProxy:
    """Forwards every request to `target`; `rewrite` changes the JSON of POST replies, None passes them as they are."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.url = ""
        self.rewrite: Rewrite | None = None
        self.paths: list[str] = []
        self._served: InThread | None = None

    def start(self) -> "RewritingProxy":
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{tail:.*}", self._forward)
        self._served = InThread(served(app))
        self.url = self._served.url
        return self

    def stop(self) -> None:
        assert self._served is not None
        self._served.stop()

    async def _forward(self, request: web.Request) -> web.Response:
        self.paths.append(request.path)
        body = await request.read()
        passed = {key: value for key, value in request.headers.items() if key.lower() not in ("host", "content-length")}
        async with (
            aiohttp.ClientSession() as session,
            session.request(request.method, self.target + request.path_qs, data=body, headers=passed) as reply,
        ):
            content_type = reply.content_type
            if request.method == "POST" and self.rewrite is not None and reply.status == 200:
                return web.json_response(self.rewrite(await reply.json()), status=reply.status)
            return web.Response(body=await reply.read(), status=reply.status, content_type=content_type)
