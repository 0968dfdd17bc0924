"""What the documents say exists, exists: files that are linked, make targets, commands, endpoints and settings."""

import json
import re
from pathlib import Path

import pytest
from typer.main import get_command

from steelyard_cli.main import app
from steelyard_runtime.settings.names import known_names

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "services/*/README.md", "examples/README.md", "requirements/README.md")
    for path in ROOT.glob(pattern)
)
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCUMENTS}

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
_TARGET = re.compile(r"`make ([a-z][a-z-]*)")
_COMMAND = re.compile(r"steelyard ([a-z-]+)(?: ([a-z]+))?")
_ENDPOINT = re.compile(r"`(?:GET|POST) (/[\w/{}.-]+)`")
_SETTING = re.compile(
    r"`((?:STEELYARD|RERANK|RERANKER|RERANKING|RETRIEVAL|NOVELTY|LLM|CHUNK|LEDGER)_[A-Z_]+)(?:=[^`]*)?`"
)


def every(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """Each match of a pattern's first group with the document that it stands in."""
    return sorted({(name, match.group(1)) for name, text in TEXTS.items() for match in pattern.finditer(text)})


@pytest.mark.parametrize(("document", "link"), [one for one in every(_LINK) if "://" not in one[1]])
def test_a_linked_file_exists(document: str, link: str) -> None:
    assert ((ROOT / document).parent / link).exists()


@pytest.mark.parametrize(("document", "target"), every(_TARGET))
def test_a_make_target_exists(document: str, target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), document


def test_the_commands_of_the_readme_exist() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    named = {match.group(1) for match in _COMMAND.finditer(TEXTS["README.md"])}
    assert named
    assert named <= set(commands)


def test_the_endpoints_that_are_named_are_served() -> None:
    served = {"/openapi.json"}
    for path in (ROOT / "docs" / "reference" / "openapi").glob("*.json"):
        served |= set(json.loads(path.read_text(encoding="utf-8"))["paths"])
    of_others = {"/v1/chat/completions"}
    prefixed = {path.removeprefix("/v1/dataprep") for path in served}
    named = {endpoint for _, endpoint in every(_ENDPOINT)} - of_others
    # The models' README tells about llama.cpp's endpoints, which are not ours.
    theirs = {endpoint for document, endpoint in every(_ENDPOINT) if document == "services/models/README.md"}
    missing = {one for one in named - theirs if re.sub(r"\{\w+\}", "{}", one) not in _shapes(served | prefixed)}
    assert missing == set()


@pytest.mark.parametrize(("document", "setting"), every(_SETTING))
def test_a_setting_that_is_named_exists(document: str, setting: str) -> None:
    assert setting in known_names(), document


def _shapes(paths: set[str]) -> set[str]:
    return {re.sub(r"\{\w+\}", "{}", path) for path in paths}


def test_no_module_is_longer_than_contributing_allows() -> None:
    limit = re.search(r"No file over (\d+) lines", TEXTS["CONTRIBUTING.md"])
    assert limit is not None
    modules = [
        module
        for folder in ("compose", "examples", "services", "tests", "tools")
        for module in (ROOT / folder).rglob("*.py")
    ]
    assert ROOT / "tests/docs/test_docs_claims.py" in modules
    lengths = {
        module.relative_to(ROOT).as_posix(): len(module.read_text(encoding="utf-8").splitlines()) for module in modules
    }
    assert {name: lines for name, lines in lengths.items() if lines > int(limit[1])} == {}
