"""The files of keys and tokens that settings name; what is in them is never told."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from steelyard_chatqna.keys.file import KeyFileError, NoKeyFileError, read_keys
from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_embedding.settings import EmbeddingSettings
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.api_key import api_key
from steelyard_runtime.service_token import service_token

from .finding import Finding, Level


def secret_files(gateway: ChatqnaSettings) -> list[Finding]:
    """A finding for each such file that the environment names; the password of a store is the store's business."""
    findings = [] if gateway.api_keys_file is None else [_api_keys(gateway.api_keys_file)]
    if gateway.steelyard_service_token_file is not None:
        findings.append(
            _secret(
                "STEELYARD_SERVICE_TOKEN_FILE",
                partial(service_token, gateway),
                "Write at least 16 random characters into it, the same for all services.",
            )
        )
    for setting, path in (
        ("LLM_API_KEY_FILE", gateway.llm_api_key_file),
        ("RERANK_API_KEY_FILE", RerankerSettings.load().rerank_api_key_file),
        ("EMBEDDING_API_KEY_FILE", EmbeddingSettings.load().embedding_api_key_file),
    ):
        if path is not None:
            findings.append(_secret(setting, partial(api_key, setting, path), "Write that server's key into it."))
    return findings


def _api_keys(path: Path) -> Finding:
    name = "file of API_KEYS_FILE"
    try:
        keys = read_keys(path).keys
    except NoKeyFileError as error:
        return Finding(name=name, level=Level.FAIL, found=str(error), fix="steelyard keys add NAME --scope SCOPE")
    except KeyFileError as error:
        fix = "Restore it, or move it away and make the keys anew with `steelyard keys add`."
        return Finding(name=name, level=Level.FAIL, found=str(error), fix=fix)
    return Finding(name=name, level=Level.OK, found=f"{path}: {len(keys)} keys")


def _secret(setting: str, read: Callable[[], object], fix: str) -> Finding:
    try:
        read()
    except ValueError as error:
        return Finding(name=f"file of {setting}", level=Level.FAIL, found=str(error), fix=fix)
    return Finding(name=f"file of {setting}", level=Level.OK, found="readable")
