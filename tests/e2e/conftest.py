"""The product as its user has it: `steelyard up` with the real models, on free ports, in a folder of its own."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "examples" / "corpus"
COMMAND = str(Path(sys.executable).parent / "steelyard")
TIMEOUT_S = 600
SERVICES = ("EMBEDDING", "RETRIEVER", "RERANKER", "CHATQNA", "DATAPREP", "LLM")


@dataclass(frozen=True)
class Product:
    """The installed command with the environment of one installation."""

    folder: Path
    environment: dict[str, str]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *arguments],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def json(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> Any:
        """The command's machine-readable output; it must have ended with one of `codes`."""
        done = self.run(*arguments, "--json")
        assert done.returncode in codes, done.stderr[-2000:]
        return json.loads(done.stdout)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A running installation with the demo corpus ingested."""
    folder = tmp_path_factory.mktemp("product")
    environment = dict(os.environ)
    for name, port in zip(SERVICES, free_ports(len(SERVICES)), strict=True):
        environment[f"{name}_PORT"] = str(port)
    installed = Product(folder, environment)
    started = installed.run("up", "--detach")
    assert started.returncode == 0, started.stderr[-2000:]
    try:
        assert installed.run("ingest", str(CORPUS)).returncode == 0
        yield installed
    finally:
        assert installed.run("down").returncode == 0
        # Nothing is left behind: every service is gone, and says so.
        assert installed.run("status").returncode == 3
