"""What each service does with settings that are wrong: the process ends, names the key, and shows no traceback."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from steelyard_runtime.serve import EXIT_CONFIGURATION
from steelyard_runtime.settings.base import Settings, SettingsError, documented_fields

SERVICES = {
    "chatqna": "ChatqnaSettings",
    "dataprep": "DataprepSettings",
    "embedding": "EmbeddingSettings",
    "reranker": "RerankerSettings",
    "retriever": "RetrieverSettings",
}
NEVER = ("\t", "x ", " x", "a\nb", "a\x01", "a\x7f", "\ufeffx", "x\u200b", "\udcff", "a\u2028b")
"""Values that are refused whatever the setting is."""


def settings_of(service: str) -> type[Settings]:
    found = getattr(import_module(f"steelyard_{service}.settings"), SERVICES[service])
    assert issubclass(found, Settings)
    return found


@pytest.fixture(autouse=True)
def _only_the_machines_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(os.environ) - {"PATH", "HOME", "STEELYARD_MODEL_DIR"}:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("service", SERVICES)
def test_every_setting_refuses_by_name_what_nobody_can_see(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTH", "off") if service == "chatqna" else None
    kind = settings_of(service)
    for name in documented_fields(kind):
        for value in NEVER:
            with monkeypatch.context() as patch:
                patch.setenv(name, value)
                with pytest.raises(SettingsError, match=rf"(?m)^{name}=.* has (spaces around|a line break)"):
                    kind.load()


@pytest.mark.parametrize("service", SERVICES)
def test_no_refusal_is_as_long_as_what_it_refuses(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTH", "off") if service == "chatqna" else None
    kind = settings_of(service)
    for name in documented_fields(kind):
        said = ""
        with monkeypatch.context() as patch:
            patch.setenv(name, ";".join("x" * 1_500))
            try:
                kind.load()
            except SettingsError as error:
                said = str(error)
        assert len(said) < 1_000, name


WRONG = [
    ("chatqna", {"LLM_MAX_TOKENS": "4096"}, "LLM_MAX_TOKENS=4096 should be below LLM_CONTEXT_TOKENS=4096"),
    ("chatqna", {"LLM_TOKENIZER": "./none.json"}, "LLM_TOKENIZER='./none.json': "),
    ("chatqna", {"LLM_API_KEY_FILE": "/dev/zero"}, "LLM_API_KEY_FILE='/dev/zero' holds more than 65536 bytes"),
    ("chatqna", {"LLM_URL": "http://300.1.1.1"}, "LLM_URL='http://300.1.1.1' has a host that is neither"),
    ("dataprep", {"CHUNK_OVERLAP_TOKENS": "200"}, "CHUNK_OVERLAP_TOKENS=200 should be below CHUNK_MAX_TOKENS=200"),
    ("dataprep", {"EMBEDDING_MODEL_ID": "nope"}, "EMBEDDING_MODEL_ID='nope': no model is named 'nope'"),
    ("dataprep", {"DATAPREP_LINK_HOSTS": "http://a/b"}, "DATAPREP_LINK_HOSTS='http://a/b' has 'http://a/b', which is"),
    ("embedding", {"EMBEDDING_MODEL_ID": "nope"}, "EMBEDDING_MODEL_ID='nope': no model is named 'nope'"),
    ("embedding", {"EMBEDDING_MODEL_ID": "smollm2-135m-instruct"}, "EMBEDDING_MODEL_ID='smollm2-135m-instruct': "),
    ("reranker", {"EMBEDDING_MODEL_ID": "nope"}, "EMBEDDING_MODEL_ID='nope': no model is named 'nope'"),
    ("reranker", {"RERANK_BACKEND": "pinecone", "RERANK_API_KEY_FILE": "/dev/zero"}, "RERANK_API_KEY_FILE='/dev/zero'"),
    ("retriever", {"STEELYARD_SERVICE_TOKEN_FILE": "/dev/zero"}, "STEELYARD_SERVICE_TOKEN_FILE='/dev/zero' holds more"),
    ("retriever", {"STORE": "arangodb", "ARANGO_PASSWORD_FILE": "/dev/zero"}, "ARANGO_PASSWORD_FILE='/dev/zero' holds"),
    ("retriever", {"STEELYARD_BIND_HOST": "no-such-host.invalid"}, "STEELYARD_BIND_HOST='no-such-host.invalid'"),
]


@pytest.mark.parametrize(("service", "wrong", "said"), WRONG)
def test_a_process_ends_and_names_the_key(service: str, wrong: dict[str, str], said: str, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("tQ3-kX93hfjw02jfKQ8s")
    beyond = {"STEELYARD_SERVICE_TOKEN_FILE": str(token)} if "STEELYARD_BIND_HOST" in wrong else {}
    environment = {"AUTH": "off"} if service == "chatqna" else {}
    ended = subprocess.run(
        [sys.executable, "-m", f"steelyard_{service}"],
        env={**os.environ, f"{service.upper()}_PORT": "0", **environment, **beyond, **wrong},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (EXIT_CONFIGURATION, ""), ended.stderr
    assert re.match(rf"{service}: {re.escape(said)}", ended.stderr), ended.stderr
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
