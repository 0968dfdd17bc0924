"""The environment that settings are read from, with an env file's variables added."""

import os
from pathlib import Path

from .envfile import read_env_file


def apply(env_file: Path | None) -> dict[str, str]:
    """Add the file's variables to this process's environment, which wins; return where each added one came from.

    Raises ConfigurationError when the file is refused.
    """
    origins: dict[str, str] = {}
    if env_file is not None:
        for name, (value, line) in read_env_file(env_file).items():
            if name not in os.environ:
                os.environ[name] = value
                origins[name] = f"{env_file}:{line}"
    return origins
