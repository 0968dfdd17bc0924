"""What every Compose configuration of Steelyard must hold to; a fault names the service and what is wrong with it."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tests.deploy.compose_files import FILES, Config

USER = "10001:10001"
GATEWAY = "chatqna"
ONE_OFF = frozenset({"cli", "models"})
FOREIGN = frozenset({"arangodb", "tei", "embedder", "vllm", "prometheus", "grafana", "collector"})
"""Services whose images are their makers': no program in them is assumed, so what asks them says whether they work."""
PUBLISHED = frozenset({GATEWAY, "grafana"})
_WAYS_OUT = frozenset({"edge", "outside"})
_USERS = {"arangodb": "10001:0"}
_HOST_NAMESPACES = ("network_mode", "pid", "ipc", "userns_mode", "uts", "cgroup")
_NETWORKS = {
    "compose.yaml": {
        **{key: {"backend"} for key in ("embedding", "dataprep", "retriever", "reranker", "cli")},
        "chatqna": {"backend", "edge"},
        "models": {"edge"},
    },
    "compose.embedded.yaml": {"chatqna": {"inference"}, "llm": {"inference"}},
    "compose.cpu.yaml": {"reranker": {"scoring"}, "tei": {"scoring", "outside"}},
    "compose.cuda.yaml": {
        "reranker": {"scoring"},
        "tei": {"scoring", "outside"},
        "chatqna": {"inference"},
        "vllm": {"inference", "outside"},
    },
    "compose.embedder.yaml": {"embedding": {"embedding"}, "embedder": {"embedding", "outside"}},
    "compose.embedding-outside.yaml": {"embedding": {"outside"}},
    "compose.arangodb.yaml": {key: {"database"} for key in ("arangodb", "retriever", "dataprep", "cli")},
    "compose.store-outside.yaml": {key: {"outside"} for key in ("retriever", "dataprep", "cli")},
    "compose.reranker-outside.yaml": {"reranker": {"outside"}},
    "compose.links-outside.yaml": {"dataprep": {"outside"}},
    "compose.traces.yaml": {"collector": {"backend", "outside"}},
    "compose.observability.yaml": {"prometheus": {"backend", "metrics"}, "grafana": {"metrics", "edge"}},
}
"""The networks that each file puts a service on, and no others."""
_SECRET = re.compile(r"(PASSWORD|SECRET|KEY|TOKEN)$")
_WRITTEN = {
    ("dataprep", "store"),
    ("retriever", "store"),
    ("chatqna", "ledgers"),
    ("cli", "keys"),
    ("models", "models"),
    ("arangodb", "arangodb"),
    ("arangodb", "arangodb_apps"),
    ("tei", "hub"),
    ("embedder", "hub"),
    ("vllm", "hub"),
    ("prometheus", "metrics"),
}
_RUNS_FROM_SCRATCH = frozenset({"vllm"})
"""What compiles programs and loads them, and so can not do with scratch space that nothing may be run from."""
_KEYS = {"chatqna": "keys:/run/keys:ro", "cli": "keys:/run/keys"}


def faults(config: Config, files: Sequence[str] = FILES) -> list[str]:
    """Every fault of the configuration that `files` are merged to."""
    found = [
        f"{name}: {fault}"
        for name, service in config["services"].items()
        for fault in [
            *_hardening(name, service),
            *_network(name, service, files),
            *_volumes(name, service),
            *_health(name, service),
        ]
    ]
    found += [
        f"network {name} is not internal"
        for name, network in config["networks"].items()
        if name not in _WAYS_OUT and not (network or {}).get("internal")
    ]
    return found + [f for name, service in config["services"].items() for f in _secrets(name, service)]


def _hardening(name: str, service: dict[str, Any]) -> list[str]:
    user = _USERS.get(name, USER)
    wanted = {
        f"runs as {service.get('user')}, not as {user}": service.get("user") == user,
        "has a file system that can be written": service.get("read_only") is True,
        f"drops {service.get('cap_drop')}, not ALL": service.get("cap_drop") == ["ALL"],
        f"adds capabilities {service.get('cap_add')}": not service.get("cap_add"),
        "may gain privileges": service.get("security_opt") == ["no-new-privileges:true"],
        "is privileged": not service.get("privileged"),
        "has devices": not service.get("devices"),
        "has no memory limit": bool(service.get("mem_limit")),
        "has no limit on processes": bool(service.get("pids_limit")),
        "has no bounded logs": "max-size" in service.get("logging", {}).get("options", {}),
    }
    shared = [f"is in the host's {key}" for key in _HOST_NAMESPACES if service.get(key)]
    scratch = [f"has scratch space without a bound: {it}" for it in service.get("tmpfs", []) if "size=" not in it]
    if name not in _RUNS_FROM_SCRATCH:
        scratch += [f"may run what is in {it}" for it in service.get("tmpfs", []) if "noexec" not in it]
    if name in FOREIGN and not re.search(r":[\w.-]*\d[\w.-]*$", service["image"]):
        scratch.append(f"is of no version: {service['image']}")
    return [fault for fault, holds in wanted.items() if not holds] + shared + scratch


def _network(name: str, service: dict[str, Any], files: Iterable[str]) -> list[str]:
    found = []
    if name not in PUBLISHED and service.get("ports"):
        found.append(f"publishes {service['ports']}")
    if name in PUBLISHED and not all(port.startswith("127.0.0.1:") for port in service["ports"]):
        found.append(f"publishes {service['ports']} beyond loopback")
    wanted = {network for file in files for network in _NETWORKS.get(file, {}).get(name, ())}
    if set(service.get("networks", [])) != wanted:
        found.append(f"is on networks {sorted(service.get('networks', []))}, not on {sorted(wanted)}")
    return found


def _volumes(name: str, service: dict[str, Any]) -> list[str]:
    has_keys = [mount for mount in service.get("volumes", []) if mount.startswith("keys:")]
    found = [] if has_keys == [*filter(None, [_KEYS.get(name)])] else [f"has the API keys as {has_keys}"]
    for mount in service.get("volumes", []):
        source = mount.split(":")[0]
        if source.startswith(("/", ".", "~")):
            found.append(f"mounts {source} of the host")
        elif not mount.endswith(":ro") and (name, source) not in _WRITTEN:
            found.append(f"can write volume {source}")
    return found


def _health(name: str, service: dict[str, Any]) -> list[str]:
    found = [
        f"does not wait until {other} is healthy"
        for other, how in service.get("depends_on", {}).items()
        if how["condition"] != "service_healthy"
    ]
    if name in ONE_OFF:
        return found
    if service.get("restart") != "unless-stopped":
        found.append("does not start again by itself")
    if name in FOREIGN:
        return found
    port = next((v for key, v in service.get("environment", {}).items() if key == f"{name.upper()}_PORT"), "9009")
    wanted = ["CMD", "python", "/opt/steelyard/healthcheck.py", port, "/health" if name == "llm" else "/ready"]
    if service.get("healthcheck", {}).get("test") != wanted:
        found.append(f"is healthy by {service.get('healthcheck', {}).get('test')}, not by {wanted}")
    return found


def _secrets(name: str, service: dict[str, Any]) -> list[str]:
    environment = service.get("environment", {})
    found = [f"{name}: {key} could hold a secret in the environment" for key in environment if _SECRET.search(key)]
    shows = "STEELYARD_SERVICE_TOKEN_FILE" in environment
    if shows != ("service_token" in service.get("secrets", [])) and name != "prometheus":
        found.append(f"{name}: has the service token without its setting, or the setting without the token")
    if name not in {"llm", "models", *FOREIGN} and not shows:
        found.append(f"{name}: knows no service token")
    if name == GATEWAY and (environment.get("AUTH"), bool(environment.get("API_KEYS_FILE"))) != ("keys", True):
        found.append(f"{name}: asks for no API key")
    return found
