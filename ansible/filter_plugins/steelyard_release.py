"""Filters that say what a release of one host holds: its Compose files, their variables and its images.

Plain functions without Ansible, so that they are tested with the rest of the project.

Exceptions::

    ValueError    an image is not in the lock; the message names it and the command that locks it
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

HOSTED = ("tei", "cohere", "pinecone")
"""Values of steelyard_rerank_backend whose server may be outside."""
_IMAGE = re.compile(r"image: \$\{(IMAGE_([A-Z]+)):-(.+)\}$", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{(\w+):-([^{}]*)\}")
_SENDERS = ("embedding", "dataprep", "retriever", "reranker", "gateway")
"""Groups whose services send traces."""
_KEY_READERS = {"embedding_api_key": "embedding", "rerank_api_key": "reranker", "llm_api_key": "gateway"}
"""Keys for servers outside, and the group whose service shows each."""
_OWNED = 12
"""Letters of a secret's hash in the name of its file: another secret is another file, so its readers are replaced."""

Variables = Mapping[str, Any]
Here = Mapping[str, Any]


def release_files(here: Here, variables: Variables) -> list[str]:
    """The Compose files of a host, the base first."""
    mine = {*here["tiers"]}
    started = {name for names in here["services"].values() for name in names}
    gpu = started & {"tei", "vllm"} and variables.get("steelyard_model_servers") in ("cuda", "t4")
    asks_store = mine & {"retriever", "dataprep"}
    measures = mine & {"embedding", "dataprep"} and _embeds_elsewhere(variables)
    wanted = {
        "": True,
        "embedded": "llm" in started,
        "cpu": "tei" in started and not gpu,
        "cuda": gpu,
        "t4": gpu and variables.get("steelyard_model_servers") == "t4",
        "tokenizer": "gateway" in mine and variables.get("steelyard_tokenizer_folder"),
        "embedder": "embedder" in started,
        "embedder-gpu": "embedder" in started and variables.get("steelyard_model_servers") in ("cuda", "t4"),
        "embedding-outside": measures and "embedder" not in started,
        "arangodb": "arangodb" in mine,
        "arangodb-peers": "arangodb" in mine and here["shared"],
        "store-outside": asks_store and "arangodb" not in mine and _in_database(here, variables),
        "reranker-outside": "reranker" in mine and "tei" not in started and _hosted(variables),
        "links-outside": "dataprep" in mine and variables.get("steelyard_dataprep_link_hosts"),
        "observability": "observability" in mine,
        "observability-peers": "observability" in mine and here["shared"],
        "traces": "collector" in started,
        "traces-peers": "collector" in started and here["shared"],
        "peers": here["shared"],
    }
    return [f"compose{'.' * bool(name)}{name}.yaml" for name, holds in wanted.items() if holds]


def release_env(here: Here, variables: Variables, root: str) -> dict[str, str]:
    """What those files want to be told besides what every release has: of secrets, only the paths of their files."""
    mine = {*here["tiers"]}
    started = {name for names in here["services"].values() for name in names}
    asks_store = mine & {"retriever", "dataprep"}
    env = {}
    if started & {"tei", "vllm", "embedder"}:
        env["HUB_FOLDER"] = f"{root}/hub"
    if "gateway" in mine and variables.get("steelyard_tokenizer_folder"):
        env["TOKENIZER_FOLDER"] = str(variables["steelyard_tokenizer_folder"])
    if mine & {"embedding", "dataprep"} and _embeds_elsewhere(variables):
        env["EMBEDDING_TOKENIZER_FOLDER"] = str(variables["steelyard_embedding_tokenizer_folder"])
    if "observability" in mine:
        env["METRICS_FOLDER"] = f"{root}/metrics"
        env["PROMETHEUS_TARGETS"] = "./targets.json"
        env["GRAFANA_PASSWORD_FILE"] = f"{root}/secrets/grafana_password"
    if "collector" in started:
        env["TRACES_URL"] = str(variables["steelyard_traces_url"])
    elif here["collector"] and mine & {*_SENDERS}:
        env["OTEL_EXPORTER_OTLP_ENDPOINT"] = here["collector"]
    if "arangodb" in mine or (asks_store and _in_database(here, variables)):
        env["ARANGO_PASSWORD_FILE"] = f"{root}/secrets/arango_password"
    if asks_store and here["database"]:
        env |= {"STORE": "arangodb", "ARANGO_URL": here["database"]}
    for name, reader in _KEY_READERS.items():
        if f"steelyard_{name}" in variables and reader in mine:
            env[f"{name.upper()}_FILE"] = f"{root}/secrets/{secret_file(name, variables[f'steelyard_{name}'])}"
    return env


def secret_file(name: str, secret: str) -> str:
    """The file of a secret that containers are given by path: its name changes with what is in it."""
    return f"{name}.{hashlib.sha256(str(secret).encode()).hexdigest()[:_OWNED]}"


def release_images(
    files: Mapping[str, str], env: Mapping[str, Any], services: Iterable[str], lock: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The image of each of `services` and of the tools, by its variable `IMAGE_...`.

    `files` are the texts of the release's Compose files in order, the last of which decides; `env` their variables.
    With a lock, each is what the lock says. Raises ValueError for one that it lacks.
    """
    found: dict[str, str] = {}
    wanted = {*services, "cli"}
    for text in files.values():
        for variable, service, default in _IMAGE.findall(text):
            if service.lower() in wanted:
                found[variable] = str(env[variable]) if env.get(variable) else _filled(default, env)
    if lock is None:
        return found
    if lacking := sorted({*found.values()} - {*lock}):
        raise ValueError(
            f"steelyard_image_lock lacks {', '.join(lacking)}: run `python -m compose.digests LOCK {' '.join(lacking)}`"
        )
    return {variable: lock[image] for variable, image in found.items()}


def _filled(text: str, env: Mapping[str, Any]) -> str:
    before = ""
    while text != before:
        before = text
        text = _VARIABLE.sub(lambda found: str(env.get(found[1]) or found[2]), text)
    return text


def _in_database(here: Here, variables: Variables) -> bool:
    return bool(here["database"]) or variables.get("steelyard_store") == "arangodb"


def _embeds_elsewhere(variables: Variables) -> bool:
    return variables.get("steelyard_embedding_backend", "local") != "local"


def _hosted(variables: Variables) -> bool:
    return variables.get("steelyard_rerank_backend") in HOSTED


class FilterModule:
    """What Ansible looks for in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """The filters by their names in templates."""
        return {
            "steelyard_files": release_files,
            "steelyard_release_env": release_env,
            "steelyard_secret_file": secret_file,
            "steelyard_images": release_images,
        }
