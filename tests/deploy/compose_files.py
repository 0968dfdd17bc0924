"""The merged Compose configuration: by Compose itself, or read with PyYAML where there is no Compose."""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = ("compose.yaml", "compose.embedded.yaml")
TOKEN_FILE = "/etc/steelyard/service_token"
KEYS_FOLDER = "/etc/steelyard/keys"
ENVIRONMENT = {"STEELYARD_SERVICE_TOKEN_FILE": TOKEN_FILE, "API_KEYS_FOLDER": KEYS_FOLDER}
_VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::([-?+])([^{}]*))?\}")

Config = dict[str, Any]


def by_compose(environment: Mapping[str, str] = ENVIRONMENT, names: Sequence[str] = FILES) -> Config:
    """What `docker compose config` makes of the files. Raises CalledProcessError when it refuses them."""
    files = [word for name in names for word in ("-f", str(ROOT / "compose" / name))]
    command = ["docker", "compose", *files, "--profile", "tools", "config", "--format", "json"]
    clean = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    done = subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True, check=True, cwd=ROOT)
    config: Config = json.loads(done.stdout)
    for service in config["services"].values():
        ports, volumes = service.get("ports", []), service.get("volumes", [])
        service["ports"] = [f"{port['host_ip']}:{port['published']}:{port['target']}" for port in ports]
        service["volumes"] = [f"{it['source']}:{it['target']}" + ":ro" * bool(it.get("read_only")) for it in volumes]
        service["secrets"] = [secret["source"] for secret in service.get("secrets", [])]
        service["networks"] = list(service.get("networks", {}))
    return config


def by_yaml(environment: Mapping[str, str] = ENVIRONMENT) -> Config:
    """The same as far as the policy looks at it: `extends` and the overlay are merged here."""
    base, overlay = (_extended(_parsed(name, environment), environment) for name in FILES)
    return _merged(base, overlay)


def _extended(config: Config, environment: Mapping[str, str]) -> Config:
    for name, service in config["services"].items():
        if "extends" in service:
            other = service.pop("extends")
            extended = _extended(_parsed(other["file"], environment), environment)["services"][other["service"]]
            config["services"][name] = _merged(extended, service)
    return config


def _parsed(name: str, environment: Mapping[str, str]) -> Config:
    def value(match: re.Match[str]) -> str:
        variable, operator, rest = match.groups()
        given = environment.get(variable)
        if operator == "+":
            return rest if given else ""
        if given:
            return given
        if operator == "?":
            raise KeyError(f"{variable}: {rest}")
        return rest or ""

    text, before = (ROOT / "compose" / name).read_text(encoding="utf-8"), ""
    while text != before:  # a default may hold a variable itself: innermost first
        text, before = _VARIABLE.sub(value, text), text
    parsed: Config = yaml.safe_load(text)
    return parsed


def _merged(base: Any, overlay: Any) -> Any:
    if isinstance(base, dict) and isinstance(overlay, dict):
        return {
            key: _merged(base.get(key), overlay.get(key)) for key in [*base, *(k for k in overlay if k not in base)]
        }
    if isinstance(base, list) and isinstance(overlay, list):
        return base + overlay
    return base if overlay is None else overlay
