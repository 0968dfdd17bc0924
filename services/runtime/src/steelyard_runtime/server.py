"""The listening server of one service."""

import gc
import socket
import sys

import orjson
import uvicorn
from fastapi import FastAPI

from .protocol import LimitedProtocol

_KEEPALIVE_S = 75
_BACKLOG = 2048
_COLLECTED_AFTER = 20_000
"""New containers after which the garbage collector looks for cycles.

A request makes thousands that the reference counts free again, and Python's own 700 cost the gateway a seventh of its
processor time (`python -m tests.bench.gateway_bench`).
"""


def server_config(app: FastAPI) -> uvicorn.Config:
    """How every service is served; tests that need a real server use it too."""
    return uvicorn.Config(
        app,
        http=LimitedProtocol,
        loop="uvloop",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEPALIVE_S,
        timeout_graceful_shutdown=10,
    )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises OSError, naming host and port, when it can not be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise OSError(f"can not listen on {host}:{port}: {error.strerror}") from None
    return listener


def serve(name: str, app: FastAPI, listener: socket.socket) -> None:
    """Say on standard output, as one JSON line, where the service listens, and serve until SIGTERM or SIGINT."""
    host, port = listener.getsockname()[:2]
    sys.stdout.write(orjson.dumps({"event": "listening", "service": name, "host": host, "port": port}).decode() + "\n")
    sys.stdout.flush()
    gc.collect()
    gc.freeze()  # modules and models stay: looking through them for garbage finds none
    gc.set_threshold(_COLLECTED_AFTER)
    uvicorn.Server(server_config(app)).run(sockets=[listener])
