"""A service of ours on a real socket, in the event loop of the test."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI

from steelyard_runtime.server import server_config


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[str]:
    """Serve `app` and give its base URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        server = _Server(server_config(app))
        task = asyncio.create_task(server.serve(sockets=[listener]))
        up = asyncio.create_task(server.up.wait())
        await asyncio.wait({task, up}, return_when=asyncio.FIRST_COMPLETED, timeout=30)
        try:
            assert server.up.is_set(), "the server did not start"
            host, port = listener.getsockname()[:2]
            yield f"http://{host}:{port}"
        finally:
            up.cancel()
            server.should_exit = True
            server.force_exit = True
            await asyncio.wait_for(task, 30)
