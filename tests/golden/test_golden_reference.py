"""The generated files are what the code says, and the check of that can fail."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel, ValidationError

from steelyard_contracts.base import Request
from steelyard_contracts.enums import Reason
from steelyard_contracts.errors import HTTP_STATUS, ErrorCode
from tools import attribute_docs, contract_pages, generate, settings_pages, settings_source

ROOT = Path(__file__).resolve().parents[2]


def test_nothing_generated_has_drifted() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tools.generate", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_drift_is_found(tmp_path: Path) -> None:
    page = Path("docs/reference/errors.md")
    files = {page: "as generated\n"}
    assert generate.drifted(files, tmp_path) == [page]
    (tmp_path / page).parent.mkdir(parents=True)
    (tmp_path / page).write_text("edited by hand\n")
    assert generate.drifted(files, tmp_path) == [page]
    (tmp_path / page).write_text("as generated\n")
    assert generate.drifted(files, tmp_path) == []
    orphan = Path("docs/reference/openapi/gone.json")
    (tmp_path / orphan).parent.mkdir()
    (tmp_path / orphan).write_text("{}")
    assert generate.drifted(files, tmp_path) == [orphan]


def test_there_are_fewer_settings_than_the_limit() -> None:
    assert 30 < len(settings_source.settings()) < settings_pages.LIMIT


def test_every_setting_has_a_meaning_that_ends_with_a_stop() -> None:
    without = [one.name for one in settings_source.settings() if not (one.info.description or "").endswith(".")]
    assert without == []


def test_every_setting_is_in_the_template_and_on_the_page() -> None:
    template = (ROOT / "env.template").read_text(encoding="utf-8")
    page = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    for one in settings_source.settings():
        assert re.search(rf"^#{one.name}=", template, re.MULTILINE), one.name
        assert page.count(f"| `{one.name}` |") == 1, one.name


def test_every_error_has_a_status_and_every_reason_a_line() -> None:
    assert set(HTTP_STATUS) == set(ErrorCode)
    errors = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")
    for code in ErrorCode:
        assert f"| `{code}` | {HTTP_STATUS[code]} |" in errors
    reasons = (ROOT / "docs/reference/reasons.md").read_text(encoding="utf-8")
    for reason in Reason:
        assert f"| `{reason}` |" in reasons


def test_a_constant_without_a_meaning_is_refused() -> None:
    class Bare:
        NAMED = "a"
        """It has a meaning."""
        BARE = "b"

    with pytest.raises(attribute_docs.UndocumentedError, match=r"Bare\.BARE"):
        attribute_docs.of_enum(Bare)


SCHEMA = json.loads((ROOT / "docs/reference/contracts.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("model", contract_pages.payloads(), ids=lambda model: model.__name__)
def test_every_payload_is_in_the_committed_schema(model: type[BaseModel]) -> None:
    assert model.__name__ in SCHEMA["$defs"]


def test_the_committed_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


TAKES = {
    "/v1/embeddings": "EmbeddingInput",
    "/v1/retrieval": "RetrievalRequest",
    "/v1/reranking": "RerankingRequest",
    "/v1/chatqna": "ChatQnARequest",
}
_DIALECT = {"query", "input"}
"""OPEA's second names, which are read and which the schema does not offer to new clients."""


def _plain_payloads() -> list[tuple[str, str, dict[str, Any]]]:
    found = []
    for path in sorted((Path(__file__).parent / "opea").glob("request-*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        payload, name = content["sent_as"]["microservice"], TAKES[content["endpoint"]]
        if name == "EmbeddingInput" or not payload.keys() & _DIALECT:
            found.append((path.stem, name, payload))
    return found


@pytest.mark.parametrize(("case", "name", "payload"), _plain_payloads(), ids=lambda value: str(value)[:40])
def test_the_schema_accepts_what_the_model_accepts(case: str, name: str, payload: dict[str, Any]) -> None:
    model = next(model for model in contract_pages.payloads() if model.__name__ == name)
    validator = jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})
    try:
        model.model_validate(payload)
    except ValidationError:
        # A model refuses more than a schema can say (alignment, spans), so only acceptance is compared.
        return
    assert validator.is_valid(payload), (case, [error.message for error in validator.iter_errors(payload)])


@pytest.mark.parametrize(
    "model",
    [model for model in contract_pages.payloads() if issubclass(model, Request)],
    ids=lambda model: model.__name__,
)
def test_the_schema_of_a_request_refuses_unknown_keys(model: type[BaseModel]) -> None:
    assert SCHEMA["$defs"][model.__name__]["additionalProperties"] is False
