"""A stack of fake services that run as real processes, and the command run as a real process."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from steelyard_cli.configuration.settings_catalogue import READERS
from steelyard_models.cache import stamp_file
from steelyard_models.catalogue import load_catalogue
from steelyard_runtime.settings.base import documented_fields
from tests.unit.cli.doubles import Double
from tests.unit.cli.ingesting import INGEST, job

SERVICES = {
    "llm": ("steelyard_models.llm_server", "LLM_PORT"),
    "embedding": ("steelyard_embedding", "EMBEDDING_PORT"),
    "retriever": ("steelyard_retriever", "RETRIEVER_PORT"),
    "reranker": ("steelyard_reranker", "RERANKER_PORT"),
    "dataprep": ("steelyard_dataprep", "DATAPREP_PORT"),
    "chatqna": ("steelyard_chatqna", "CHATQNA_PORT"),
}
_FAKE = Path(__file__).with_name("fake_service.py")


def free_ports(count: int) -> list[int]:
    """Ports that nothing uses now, all different."""
    held = []
    try:
        for _ in range(count):
            probe = socket.socket()
            probe.bind(("127.0.0.1", 0))
            held.append(probe)
        return [probe.getsockname()[1] for probe in held]
    finally:
        for probe in held:
            probe.close()


@dataclass
class Stack:
    """A folder with fake services on free ports.

    `behave` sets how each of them behaves (see fake_service.py), `given` what else the environment says.
    """

    folder: Path
    ports: dict[str, int]
    behave: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    @property
    def models(self) -> Path:
        return self.folder / "models"

    def environ(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("STEELYARD_", "LLM_"))}
        return {
            **inherited,
            "PYTHONPATH": os.pathsep.join(
                [str(self.folder / "modules"), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
            "FAKE_FOLDER": str(self.folder),
            "STEELYARD_MODEL_DIR": str(self.models),
            **{SERVICES[name][1]: str(port) for name, port in self.ports.items()},
            **{f"FAKE_{name.upper()}": behaviour for name, behaviour in self.behave.items()},
            **self.given,
        }

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "steelyard_cli", *arguments, "--state-dir", str(self.state_dir)],
            env=self.environ(),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        process = self.start(*arguments)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def record(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads((self.state_dir / "run" / "state.json").read_text())
        return parsed

    def events(self, name: str) -> list[str]:
        """What a fake service wrote down about itself, in order."""
        path = self.folder / "events.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split(" ", 1)[1] for line in lines if line.startswith(f"{name} ")]


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "fake_service.py").write_text(_FAKE.read_text())
    for name, (module, variable) in SERVICES.items():
        *packages, last = module.split(".")
        folder = modules.joinpath(*(packages or [last]))
        folder.mkdir(parents=True)
        # Only the entry point is a fake: the rest of the package, its settings above all, is the real one's.
        (folder / "__init__.py").write_text("import pkgutil\n__path__ = pkgutil.extend_path(__path__, __name__)\n")
        (folder / (f"{last}.py" if packages else "__main__.py")).write_text(
            f"import fake_service\nfake_service.serve({name!r}, {variable!r})\n"
        )
    # The catalogue and its licence texts are read from beside the package's `__init__.py`.
    package = Path(str(files("steelyard_models")))
    shutil.copytree(
        package, modules / package.name, ignore=shutil.ignore_patterns("*.py", "__pycache__"), dirs_exist_ok=True
    )
    # Files of no content that their stamp vouches for: the services are fakes and read none.
    for model in load_catalogue():
        if model.default:
            for file in model.files:
                path = tmp_path / "models" / model.name / file.name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as stream:
                    stream.truncate(file.size)
                stamp_file(tmp_path / "models" / model.name, file)
    made = Stack(tmp_path, dict(zip(SERVICES, free_ports(len(SERVICES)), strict=True)))
    yield made
    if (made.state_dir / "run" / "state.json").exists():
        made.run("down", "--timeout", "5")


@pytest.fixture
def double() -> Iterator[Double]:
    made = Double()
    yield made
    made.stop()


@pytest.fixture
def clean_environ(tmp_path: Path) -> Iterator[None]:
    """An environment without settings, in an empty folder, that a command may change."""
    known = {name for settings in READERS.values() for name in documented_fields(settings)}
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("STEELYARD_") or name in known:
                patch.delenv(name)
        patch.chdir(tmp_path)
        before = dict(os.environ)
        yield
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "docs"
    made.mkdir()
    for name in ("a.md", "broken.pdf", "größe.txt"):
        (made / name).write_text(f"content of {name}")
    (made / ".hidden").write_text("x")
    return made


@pytest.fixture
def dataprep(double):
    def answer(call):
        if b'name="files"' not in call.body:
            return 200, {}, job("a.md")
        name, _ = call.file()
        if name == "broken.pdf":
            # A report about one refused file has the status of the refusal.
            return 422, {}, job(name, code="corrupt_document", detail="no trailer")
        return 200, {}, job(name)

    double.routes[INGEST] = answer
    return double
