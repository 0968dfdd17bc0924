"""The program of the role that copies databases, with the places of a test instead of a container's."""

import importlib.util
from pathlib import Path
from types import ModuleType

from compose.generate import ROLE
from tests.deploy.compose_files import ROOT


def databases_program(data: Path, copies: Path) -> ModuleType:
    """A module whose databases lie in `data`, under their own names, and whose copies lie in `copies`."""
    spec = importlib.util.spec_from_file_location("databases", ROOT / ROLE / "files/databases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for folder in (data, copies):
        folder.mkdir(exist_ok=True)
    module.PLACES = {name: data / place.name for name, place in module.PLACES.items()}  # type: ignore[attr-defined]
    module.FOLDER = copies  # type: ignore[attr-defined]
    return module
