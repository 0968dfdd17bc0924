"""The Ansible side as plain Python: its filters, and the words of the role that they are given."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from compose.generate import ROLE
from tests.deploy.compose_files import ROOT


def filters(name: str) -> ModuleType:
    """One module of ansible/filter_plugins, which is no package."""
    path = ROOT / "ansible/filter_plugins" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"filters_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path: Path) -> Any:
    """A YAML file of the repository."""
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def options() -> dict[str, dict[str, Any]]:
    """The role's variables as its argument specification has them."""
    found: dict[str, dict[str, Any]] = read(ROLE / "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    return found


def bounds() -> dict[str, dict[str, float]]:
    """The ranges of the variables that are numbers."""
    found: dict[str, dict[str, float]] = read(ROLE / "vars/main.yml")["steelyard_bounds"]
    return found
