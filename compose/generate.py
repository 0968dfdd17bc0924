"""Writes what Compose and Ansible must know about the settings, from the services' settings classes.

    python -m compose.generate            writes
    python -m compose.generate --check    writes nothing; names each file that has drifted and exits with 1

`compose/settings.yaml` lists, for each service, the settings that an operator may give it. A name without a value is
passed on by Compose when the shell or the env file sets it, and is absent in the container otherwise. Each service gets
only what it reads, so a changed setting recreates only the services that read it.

`ansible/roles/steelyard/meta/argument_specs.yml` gives each of them a typed variable; `vars/main.yml` of that role says
which variable is rendered as which setting, and its `README.md` lists them for people.
"""

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import yaml

from steelyard_runtime.settings.describe import admits_empty, allowed, bounds, default_text, type_name
from tools.settings_source import Setting, settings

from .role_variables import ENTRIES, OWN, PASSED_ON

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = Path("compose/settings.yaml")
ROLE = Path("ansible/roles/steelyard")
SERVICES = ("embedding", "retriever", "reranker", "dataprep", "chatqna")

CONTAINER = frozenset(
    {
        "API_KEYS_FILE",
        "ARANGO_PASSWORD_FILE",
        "AUTH",
        "CHATQNA_PORT",
        "DATAPREP_PORT",
        "DATAPREP_URL",
        "EMBEDDING_API_KEY_FILE",
        "EMBEDDING_MODEL_DIR",
        "EMBEDDING_PORT",
        "EMBEDDING_URL",
        "LEDGER_PATH",
        "LLM_API_KEY_FILE",
        "RERANKER_PORT",
        "RERANKER_URL",
        "RERANK_API_KEY_FILE",
        "RETRIEVER_PORT",
        "RETRIEVER_URL",
        "STEELYARD_BIND_HOST",
        "STEELYARD_MODEL_DIR",
        "STEELYARD_SERVICE_TOKEN_FILE",
        "STORE_PATH",
    }
)
"""Settings that describe the inside of a container; the Compose files set them, and an operator has no say there."""


def passed_on(service: str, known: list[Setting]) -> list[str]:
    """The names that Compose passes on to one service, in order."""
    return [one.name for one in known if service in one.readers and one.name not in CONTAINER]


def deployed(known: list[Setting]) -> list[Setting]:
    """The settings that a deployment has a say in: what the services and the model server read."""
    return [one for one in known if any(passed_on(service, [one]) for service in SERVICES) or one.name == "LLM_THREADS"]


def variable(name: str) -> str:
    """The Ansible variable of a setting."""
    return f"steelyard_{name.lower().removeprefix('steelyard_')}"


def settings_yaml(known: list[Setting]) -> str:
    """The content of compose/settings.yaml."""
    lines = [
        f"# {_GENERATED} A name without a value is passed on",
        "# when the shell or the env file sets it; docs/reference/settings.md says what each one means.",
        "services:",
    ]
    for service in SERVICES:
        lines += [f"  {service}:", "    extends: { file: hardened.yaml, service: hardened }", "    environment:"]
        lines += [f"      {name}:" for name in passed_on(service, known)]
    return "\n".join(lines) + "\n"


def argument_specs(known: list[Setting]) -> str:
    """The content of the role's meta/argument_specs.yml; JSON strings are YAML strings."""
    lines = [
        "---",
        f"# {_GENERATED}",
        "argument_specs:",
        "  main:",
        "    short_description: Deploy Steelyard's services on one host",
        "    options: &options",
    ]
    for name, option in OWN.items():
        lines += _option(name, option)
    for one in deployed(known):
        lines += _option(variable(one.name), _described(one))
    for entry, meaning in ENTRIES.items():
        lines += [f"  {entry}:", f"    short_description: {meaning}", "    options: *options"]
    return "\n".join(lines) + "\n"


def role_vars(known: list[Setting]) -> str:
    """The content of the role's vars/main.yml."""
    lines = ["---", f"# {_GENERATED}", "steelyard_setting_of_variable:"]
    lines += [f"  {variable(one.name)}: {one.name}" for one in deployed(known)]
    lines += ["steelyard_own_variables:", *(f"  - {name}" for name in OWN)]
    lines += ["steelyard_passed_on:", *(f"  {name}: {value}" for name, value in PASSED_ON.items()), "steelyard_bounds:"]
    lines += [f"  {variable(one.name)}: {json.dumps(found)}" for one in deployed(known) if (found := bounds(one.info))]
    lines += ["steelyard_default_models:"]
    lines += [f"  {variable(one.name)}: {default_text(one.info)}" for one in known if one.name in _MODELS]
    return "\n".join(lines) + "\n"


def role_readme(known: list[Setting]) -> str:
    """The content of the role's README.md."""
    defaults = yaml.safe_load((ROOT / ROLE / "defaults/main.yml").read_text(encoding="utf-8"))
    lines = [
        "# Role `steelyard`",
        "",
        f"{_GENERATED} What to do with it is in",
        "[docs/operate/ansible.md](../../../docs/operate/ansible.md).",
        "",
        "| entry point | what it does |",
        "|---|---|",
        "| `main` | Deploy a release |",
        *(f"| `{name}` | {meaning} |" for name, meaning in ENTRIES.items()),
        "",
        "## Variables of the role",
        "",
        "| variable | type | default | meaning |",
        "|---|---|---|---|",
    ]
    for name, option in OWN.items():
        kind = " \\| ".join(f"`{choice}`" for choice in option.get("choices", [])) or option["type"]
        default = f"`{json.dumps(defaults[name])}`".replace("|", "\\|") if name in defaults else ""
        secret = " Secret: from a vault." if option.get("no_log") and "vault" not in option["description"] else ""
        lines.append(f"| `{name}` | {kind} | {default} | {option['description']}{secret} |")
    lines += [
        "",
        "## Variables of the services' settings",
        "",
        "Absent, the service's own default holds. What each means is in",
        "[docs/reference/settings.md](../../../docs/reference/settings.md).",
        "",
        "| variable | setting | allowed | default |",
        "|---|---|---|---|",
    ]
    for one in deployed(known):
        words = allowed(one.info).replace("|", "\\|")
        lines.append(f"| `{variable(one.name)}` | `{one.name}` | {words} | {default_text(one.info) or 'empty'} |")
    return "\n".join(lines) + "\n"


def generated() -> dict[Path, str]:
    """The content of every generated file, by its path from the root of the repository."""
    known = settings()
    return {
        SETTINGS: settings_yaml(known),
        ROLE / "meta/argument_specs.yml": argument_specs(known),
        ROLE / "vars/main.yml": role_vars(known),
        ROLE / "README.md": role_readme(known),
    }


def drifted() -> list[Path]:
    """The files whose content on disk is not the generated one."""
    return [
        path
        for path, content in generated().items()
        if not (ROOT / path).is_file() or (ROOT / path).read_text(encoding="utf-8") != content
    ]


_GENERATED = "Generated by `python -m compose.generate` from the services' settings classes."
_COLUMNS = 120
_TYPES = {"integer": "int", "number": "float", "truth": "bool"}
_MODELS = ("EMBEDDING_MODEL_ID", "LLM_MODEL_ID")
"""Settings that name model files which a host must hold."""


def _described(one: Setting) -> dict[str, Any]:
    kind = type_name(one.info)
    option: dict[str, Any] = {"type": "str" if admits_empty(one.info) else _TYPES.get(kind, "str")}
    if kind == "choice":
        option["choices"] = _choices(one)
    default = default_text(one.info)
    option["description"] = (
        f"{one.info.description} Should be {allowed(one.info)}; the service's default is {default or 'empty'}."
    )
    return option


def _choices(one: Setting) -> list[str]:
    return allowed(one.info).replace(" or ", ", ").split(", ")


def _option(name: str, option: dict[str, Any]) -> list[str]:
    lines = [f"      {name}:"]
    for key, value in option.items():
        line = f"        {key}: {json.dumps(value)}"
        folded = [f"        {key}: >-", *(f"          {part}" for part in textwrap.wrap(str(value), _COLUMNS - 10))]
        lines += folded if isinstance(value, str) and len(line) > _COLUMNS else [line]
    return lines


def main(arguments: list[str]) -> int:
    """Write or check the files; returns the exit code."""
    stale = drifted()
    for path in stale:
        sys.stdout.write(f"{'drifted' if arguments == ['--check'] else 'written'}: {path}\n")
        if arguments != ["--check"]:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(generated()[path], encoding="utf-8")
    return 1 if stale and arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
