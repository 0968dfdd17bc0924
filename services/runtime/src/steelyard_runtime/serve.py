"""Run one service as a process: read its settings, build its app, listen, and say on which port.

Only what reads settings is imported at first, so that a wrong environment ends the process in a moment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn, TypeVar

from .settings.base import SettingsError
from .settings.groups import ProcessSettings

EXIT_CONFIGURATION = 2

Loaded = TypeVar("Loaded", bound=ProcessSettings)


def run(name: str, settings_class: type[Loaded], port_of: Callable[[Loaded], int], build: str) -> None:
    """Serve until SIGTERM or SIGINT. Settings that are refused end the process at once with exit code 2.

    `build` names the function that makes the app, as `module:function`: its module is imported once the settings are
    accepted. Port 0 takes a free port. The bound address is printed as one JSON line on standard output once the socket
    listens.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        settings = settings_class.load()
    except SettingsError as error:
        _refuse(name, error)
    from . import logs, server  # the frameworks behind them take most of the time of a start

    try:
        app = _function(build)(settings)
    except (ValueError, OSError) as error:
        _refuse(name, error)
    host, port = settings.steelyard_bind_host, port_of(settings)
    try:
        listener = server.listen(host, port)
    except OSError as error:
        _refuse(name, f"STEELYARD_BIND_HOST={host!r}, {name.upper()}_PORT={port}: {error}")
    logs.configure(name, settings.steelyard_log_level, app.state.policy_hash)
    server.serve(name, app, listener)


def _function(path: str) -> Any:
    module, _, function = path.partition(":")
    return getattr(import_module(module), function)


def _refuse(name: str, reason: object) -> NoReturn:
    sys.stderr.write("".join(f"{name}: {line}\n" for line in str(reason).splitlines()))
    raise SystemExit(EXIT_CONFIGURATION)
