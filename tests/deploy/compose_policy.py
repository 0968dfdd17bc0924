"""What every Compose configuration of Steelyard must hold to; a fault names the service and what is wrong with it."""

import re
from typing import Any

from tests.deploy.compose_files import Config

USER = "10001:10001"
GATEWAY = "chatqna"
ONE_OFF = frozenset({"cli", "models"})
_HOST_NAMESPACES = ("network_mode", "pid", "ipc", "userns_mode", "uts", "cgroup")
_NETWORKS = {
    "chatqna": {"backend", "edge", "inference"},
    "models": {"edge"},
    "llm": {"inference"},
}
_SECRET = re.compile(r"(PASSWORD|SECRET|KEY|TOKEN)$")
_WRITTEN = {
    ("dataprep", "store"),
    ("retriever", "store"),
    ("chatqna", "ledgers"),
    ("cli", "keys"),
    ("models", "models"),
}
_KEYS = {"chatqna": "keys:/run/keys:ro", "cli": "keys:/run/keys"}


def faults(config: Config) -> list[str]:
    """Every fault of a merged configuration."""
    found = [
        f"{name}: {fault}"
        for name, service in config["services"].items()
        for fault in [*_hardening(service), *_network(name, service), *_volumes(name, service), *_health(name, service)]
    ]
    found += [
        f"network {name} is not internal"
        for name, network in config["networks"].items()
        if name != "edge" and not (network or {}).get("internal")
    ]
    return found + [f for name, service in config["services"].items() for f in _secrets(name, service)]


def _hardening(service: dict[str, Any]) -> list[str]:
    wanted = {
        f"runs as {service.get('user')}, not as {USER}": service.get("user") == USER,
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
    return [fault for fault, holds in wanted.items() if not holds] + shared + scratch


def _network(name: str, service: dict[str, Any]) -> list[str]:
    found = []
    if name != GATEWAY and service.get("ports"):
        found.append(f"publishes {service['ports']}")
    if name == GATEWAY and not all(port.startswith("127.0.0.1:") for port in service["ports"]):
        found.append(f"publishes {service['ports']} beyond loopback")
    wanted = _NETWORKS.get(name, {"backend"})
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
    port = next((v for key, v in service.get("environment", {}).items() if key == f"{name.upper()}_PORT"), "9009")
    wanted = ["CMD", "python", "/opt/steelyard/healthcheck.py", port, "/health" if name == "llm" else "/ready"]
    if service.get("healthcheck", {}).get("test") != wanted:
        found.append(f"is healthy by {service.get('healthcheck', {}).get('test')}, not by {wanted}")
    return found


def _secrets(name: str, service: dict[str, Any]) -> list[str]:
    environment = service.get("environment", {})
    found = [f"{name}: {key} could hold a secret in the environment" for key in environment if _SECRET.search(key)]
    shows = "STEELYARD_SERVICE_TOKEN_FILE" in environment
    if shows != ("service_token" in service.get("secrets", [])):
        found.append(f"{name}: has the service token without its setting, or the setting without the token")
    if name not in {"llm", "models"} and not shows:
        found.append(f"{name}: knows no service token")
    if name == GATEWAY and (environment.get("AUTH"), bool(environment.get("API_KEYS_FILE"))) != ("keys", True):
        found.append(f"{name}: asks for no API key")
    return found
