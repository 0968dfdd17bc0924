"""The environment that settings are read from, with an env file's variables added."""

import os
from collections.abc import Mapping
from pathlib import Path

from steelyard_runtime.settings.groups import LOOPBACK

from .envfile import read_env_file

LOCAL = "loopback"
"""The origin of `AUTH=off` where nobody has said how callers of a gateway on loopback prove who they are."""


def apply(env_file: Path | None) -> dict[str, str]:
    """Add the file's variables to this process's environment, which wins; return where each added one came from.

    A gateway on loopback that was given neither `AUTH` nor `API_KEYS_FILE` gets `AUTH=off`, since only this machine's
    own users can reach it. Raises ConfigurationError when the file is refused.
    """
    origins: dict[str, str] = {}
    if env_file is not None:
        for name, (value, line) in read_env_file(env_file).items():
            if name not in os.environ:
                os.environ[name] = value
                origins[name] = f"{env_file}:{line}"
    if _is_local(os.environ):
        os.environ["AUTH"] = "off"
        origins["AUTH"] = LOCAL
    return origins


def _is_local(environ: Mapping[str, str]) -> bool:
    unsaid = "AUTH" not in environ and not environ.get("API_KEYS_FILE")
    return unsaid and environ.get("STEELYARD_BIND_HOST", "127.0.0.1") in LOOPBACK
