"""A real uvicorn server in a thread, for what only shows over a socket."""

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest
import structlog
import uvicorn
from fastapi import FastAPI

from steelyard_runtime.server import server_config


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=20)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


@contextmanager
def serving(app: FastAPI) -> Iterator[Address]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        server = _Server(server_config(app))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        assert server.up.wait(20), "the server did not start"
        try:
            yield Address(*listener.getsockname()[:2])
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive(), "the server did not stop"


@pytest.fixture
def serve() -> Iterator[Callable[[FastAPI], Address]]:
    """Serve an app until the end of the test."""
    with ExitStack() as stack:
        yield lambda app: stack.enter_context(serving(app))


@pytest.fixture
def _restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
