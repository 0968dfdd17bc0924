"""What goes into each image, and how an image says that it is healthy."""

import importlib.metadata
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from compose.image_lock import ROOT, Image, ImageError, image, read_lock

IMAGES = ("embedding", "retriever", "reranker", "dataprep", "chatqna", "llm", "cli")
TABLE = tomllib.loads((ROOT / "compose/images.toml").read_text(encoding="utf-8"))


def installed_closure(distributions: list[str], without: set[str]) -> set[str]:
    """What the metadata of the installed packages says that these distributions need, on this platform."""
    needed: set[str] = set()
    queue = [(f"steelyard-{folder}", "") for folder in distributions]
    seen = set()
    while queue:
        name, extra = queue.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        if not name.startswith("steelyard-"):
            needed.add(name)
        for text in importlib.metadata.requires(name) or []:
            requirement = Requirement(text)
            other = canonicalize_name(requirement.name)
            if other in without or (requirement.marker and not requirement.marker.evaluate({"extra": extra})):
                continue
            queue += [(other, ""), *((other, wanted) for wanted in requirement.extras)]
    return needed


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_holds_what_its_distributions_need(name: str) -> None:
    held = image(name)
    without = set(TABLE[name]["without"])
    needed = installed_closure(held.distributions, without)
    assert needed <= set(held.pins)
    assert not without & set(held.pins)


@pytest.mark.parametrize("name", IMAGES)
def test_every_pin_of_an_image_is_the_locks_with_its_hashes(name: str) -> None:
    lock = read_lock((ROOT / "requirements/runtime.lock").read_text(encoding="utf-8"))
    held = image(name)
    assert held.pins
    for package, pin in held.pins.items():
        assert pin == lock[package]
        assert "--hash=sha256:" in pin.text


def test_only_the_model_images_hold_model_runtimes() -> None:
    holders = {name: {"onnxruntime", "xllamacpp"} & set(image(name).pins) for name in IMAGES}
    assert {name: found for name, found in holders.items() if found} == {
        "embedding": {"onnxruntime"},
        "reranker": {"onnxruntime"},
        "llm": {"xllamacpp"},
    }


def test_packages_and_lock_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "compose").mkdir()
    (tmp_path / "requirements").mkdir()
    (tmp_path / "services/one").mkdir(parents=True)
    (tmp_path / "services/one/pyproject.toml").write_text('[project]\ndependencies = ["absent"]\n')
    (tmp_path / "requirements/runtime.lock").write_text("other==1 \\\n    --hash=sha256:00\n    # via -r runtime.in\n")
    (tmp_path / "compose/images.toml").write_text('[one]\ndistributions = ["one"]\n[two]\nwithout = ["stranger"]\n')
    with pytest.raises(ImageError, match=r"absent is needed, and requirements/runtime.lock lacks it"):
        image("one", tmp_path)
    with pytest.raises(ImageError, match=r"\[two\] is without stranger"):
        image("two", tmp_path)
    with pytest.raises(ImageError, match="three is not an image"):
        image("three", tmp_path)
    with pytest.raises(ImageError, match="does not say what other is needed by"):
        read_lock("other==1 \\\n    --hash=sha256:00\n")


def test_the_part_that_a_lock_names_on_several_lines_is_read() -> None:
    lock = read_lock("a==1 \\\n    --hash=sha256:00\n    # via\n    #   -r requirements/runtime.in\n    #   b\n")
    assert lock["a"].needed_by == {"-r requirements/runtime.in", "b"}
    assert Image([], lock, [], []).requirements.startswith("a==1 \\\n    --hash=sha256:00\n")


def test_no_image_reports_to_the_maker_of_a_library() -> None:
    text = (ROOT / "compose/Dockerfile").read_text(encoding="utf-8")
    last = text[text.rindex("\nFROM ") :]
    assert re.search(r"^ENV .*\bORT_DISABLE_TELEMETRY=1$", last, re.MULTILINE)
    assert last.index("ORT_DISABLE_TELEMETRY") < last.index("import $name")


def test_the_dockerfile_ends_as_an_ordinary_user_and_names_no_registry() -> None:
    text = (ROOT / "compose/Dockerfile").read_text(encoding="utf-8")
    last = text[text.rindex("\nFROM ") :]
    assert "USER 10001:10001" in last
    assert text.count("\nFROM ") == text.count("\nFROM ${BASE_IMAGE}") + text.count("\nFROM packages ")
    assert not re.search(r"https?://|index-url|@sha256|# syntax", text)
    installs = [command for command in text.split("&&") if re.search(r"pip .*install", command)]
    assert len(installs) == 3
    assert all("--require-hashes" in one or "--no-index" in one for one in installs)


STATUSES = {"/ready": 200, "/missing-neighbour": 503, "/moved": 307, "/created": 204}


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(STATUSES[self.path])
        self.send_header("Content-Length", "0" if self.path == "/created" else "5")
        self.end_headers()
        if self.path != "/created":
            self.wfile.write(b"cause")

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), _Answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def check(port: int, path: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "compose/healthcheck.py"), str(port), path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("path", "code"), [("/ready", 0), ("/missing-neighbour", 1), ("/moved", 1), ("/created", 1)])
def test_only_status_200_is_healthy(port: int, path: str, code: int) -> None:
    done = check(port, path)
    assert done.returncode == code
    assert done.stdout == ("" if path == "/created" else "cause")


def test_a_port_that_nobody_listens_on_is_not_healthy() -> None:
    done = check(1, "/ready")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("no answer on port 1: ConnectionRefusedError")
