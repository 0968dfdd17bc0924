"""Run one service as a process: read its settings, build its app, listen, and say on which port."""

import os
import socket
import sys
from collections.abc import Callable
from typing import NoReturn, TypeVar

import orjson
import uvicorn
from fastapi import FastAPI

from . import logs
from .protocol import LimitedProtocol
from .settings.base import SettingsError
from .settings.groups import ProcessSettings

EXIT_CONFIGURATION = 2
_KEEPALIVE_S = 75

Loaded = TypeVar("Loaded", bound=ProcessSettings)


def run(
    name: str, settings_class: type[Loaded], port_of: Callable[[Loaded], int], build: Callable[[Loaded], FastAPI]
) -> None:
    """Serve until SIGTERM or SIGINT. Settings that are refused end the process at once with exit code 2.

    Port 0 takes a free port. The bound address is printed as one JSON line on standard output once the socket listens.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        settings = settings_class.load()
        app = build(settings)
    except (SettingsError, ValueError, OSError) as error:
        _refuse(name, error)
    logs.configure(name, settings.steelyard_log_level)
    listener = _listen(name, settings.steelyard_bind_host, port_of(settings))
    host, port = listener.getsockname()[:2]
    sys.stdout.write(orjson.dumps({"event": "listening", "service": name, "host": host, "port": port}).decode() + "\n")
    sys.stdout.flush()
    uvicorn.Server(server_config(app)).run(sockets=[listener])


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


def _listen(name: str, host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        _refuse(name, f"can not listen on {host}:{port}: {error.strerror}")
    return listener


def _refuse(name: str, reason: object) -> NoReturn:
    sys.stderr.write("".join(f"{name}: {line}\n" for line in str(reason).splitlines()))
    raise SystemExit(EXIT_CONFIGURATION)
