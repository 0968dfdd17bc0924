"""A proxy between two of our services that rewrites JSON replies, to bring faults of the data onto a real wire."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp import web

Rewrite = Callable[[Any], Any]


class RewritingProxy:
    """Forwards every request to `target`; `rewrite` changes the JSON of POST replies, None passes them as they are."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.url = ""
        self.rewrite: Rewrite | None = None
        self.paths: list[str] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> "RewritingProxy":
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(10)
        return self

    def stop(self) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self, started: threading.Event) -> None:
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{tail:.*}", self._forward)
        runner = web.AppRunner(app, shutdown_timeout=1)
        self._loop.run_until_complete(runner.setup())
        self._loop.run_until_complete(web.TCPSite(runner, "127.0.0.1", 0).start())
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

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
