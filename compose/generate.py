"""Writes what Compose and Ansible must know about the settings, from the services' settings classes.

    python -m compose.generate            writes
    python -m compose.generate --check    writes nothing; names each file that has drifted and exits with 1

`compose/settings.yaml` lists, for each service, the settings that an operator may give it. A name without a value is
passed on by Compose when the shell or the env file sets it, and is absent in the container otherwise. Each service gets
only what it reads, so a changed setting recreates only the services that read it.

`ansible/roles/steelyard/meta/argument_specs.yml` gives each of them a typed variable; `vars/main.yml` of that role says
which variable is rendered as which setting.
"""

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

from steelyard_runtime.settings.describe import admits_empty, allowed, bounds, default_text, type_name
from tools.settings_source import Setting, settings

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
    for name, option in _OWN.items():
        lines += _option(name, option)
    for one in deployed(known):
        lines += _option(variable(one.name), _described(one))
    for entry, meaning in _ENTRIES.items():
        lines += [f"  {entry}:", f"    short_description: {meaning}", "    options: *options"]
    return "\n".join(lines) + "\n"


def role_vars(known: list[Setting]) -> str:
    """The content of the role's vars/main.yml."""
    lines = ["---", f"# {_GENERATED}", "steelyard_setting_of_variable:"]
    lines += [f"  {variable(one.name)}: {one.name}" for one in deployed(known)]
    lines += ["steelyard_own_variables:", *(f"  - {name}" for name in _OWN), "steelyard_bounds:"]
    lines += [f"  {variable(one.name)}: {json.dumps(found)}" for one in deployed(known) if (found := bounds(one.info))]
    lines += ["steelyard_default_models:"]
    lines += [f"  {variable(one.name)}: {default_text(one.info)}" for one in known if one.name in _MODELS]
    return "\n".join(lines) + "\n"


def generated() -> dict[Path, str]:
    """The content of every generated file, by its path from the root of the repository."""
    known = settings()
    return {
        SETTINGS: settings_yaml(known),
        ROLE / "meta/argument_specs.yml": argument_specs(known),
        ROLE / "vars/main.yml": role_vars(known),
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
_ENTRIES = {
    "render": "Only render what a release holds",
    "verify": "Ask what runs whether it is ready, guarded and answers",
    "rollback": "Go back to the release of before",
    "backup": "Fetch a consistent copy of the host's documents and ledgers",
    "restore": "Bring a copy back and prove its row counts",
    "rotate": "Give the stack a new service token",
    "uninstall": "Take the services away",
}
_OWN: dict[str, dict[str, Any]] = {
    "steelyard_root": {"type": "path", "description": "Folder of releases and secrets on the host."},
    "steelyard_compose_source": {"type": "path", "description": "Folder of the Compose files on the controller."},
    "steelyard_address": {
        "type": "str",
        "description": "Address under which the hosts of one stack reach this one; ansible_host unless it is given.",
    },
    "steelyard_image_tag": {"type": "str", "description": "Tag of the images."},
    "steelyard_image_archive": {
        "type": "path",
        "description": "Archive of images on the controller, made by bundle.yml, for hosts that lack them.",
    },
    "steelyard_models_archive": {
        "type": "path",
        "description": "Archive of model files on the controller, made by bundle.yml; without it, hosts fetch them.",
    },
    "steelyard_gateway_address": {"type": "str", "description": "Address of the host that the gateway listens on."},
    "steelyard_gateway_port": {"type": "int", "description": "Port of the host that the gateway listens on."},
    "steelyard_embedded_llm": {"type": "bool", "description": "Run the packages' own model server as well."},
    "steelyard_accelerator": {
        "type": "str",
        "choices": ["cpu", "cuda"],
        "description": "What the model servers of this host run on.",
    },
    "steelyard_service_token": {
        "type": "str",
        "no_log": True,
        "description": "The services' shared secret, from a vault; without it one is made once on the host.",
    },
    "steelyard_api_keys_source": {
        "type": "path",
        "description": "File of the gateway's API keys on the controller, made by `steelyard keys add`; without it, the"
        " one on the host stays as it is.",
    },
    "steelyard_verify_key": {
        "type": "str",
        "no_log": True,
        "description": "An API key, from a vault, with which a release is asked the smoke question; without it, the"
        " release is only asked whether it is ready and whether it refuses who has no key.",
    },
    "steelyard_verify_question": {"type": "str", "description": "The smoke question."},
    "steelyard_verify_expect": {"type": "str", "description": "Regular expression that its answer must match."},
    "steelyard_restore_from": {
        "type": "path",
        "description": "Folder of one backup on the controller, which restore.yml brings back.",
    },
    "steelyard_backup_folder": {"type": "path", "description": "Folder of backups on the controller."},
    "steelyard_purge_data": {
        "type": "bool",
        "description": "Let uninstall.yml delete documents, ledgers, models and secrets as well.",
    },
    "steelyard_releases_kept": {"type": "int", "description": "Releases that are kept on the host."},
    "steelyard_wait_timeout_s": {"type": "int", "description": "Time for all services to become healthy."},
}
"""Variables of the role that are not settings of a service."""


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
