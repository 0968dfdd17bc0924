from __future__ import annotations

import inspect
import re
import subprocess
import sys

import steelyard_store
from steelyard_store import ModelIdentity, ModelMismatch, StoreError, errors


def classes() -> dict[str, type[StoreError]]:
    return {
        name: value for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, StoreError)
    }


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    drawn, path = {}, ["RuntimeError"]
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(
            r"^(?P<indent>[│├└─ ]*)(?P<name>Store\w+|[A-Z]\w+(Mismatch|Required|Conflict|Query|Publication|Deleted))  ",
            line,
        ):
            depth = len(match["indent"]) // 4 + 1
            path[depth:] = [match["name"]]
            drawn[match["name"]] = path[depth - 1]
    assert drawn == {name: value.__mro__[1].__name__ for name, value in classes().items()}


def test_every_error_is_exported_and_says_what_it_means() -> None:
    for name, value in classes().items():
        assert getattr(steelyard_store, name) is value
        assert (value.__doc__ or "").strip(), name


def test_a_model_mismatch_names_both_models_and_the_fix() -> None:
    error = ModelMismatch(ModelIdentity("a/b", "r1", 3), ModelIdentity("c/d", "r2", 4))
    assert str(error) == (
        "the store holds vectors of a/b@r1 (3 dimensions), but this caller uses c/d@r2 (4 dimensions): "
        "configure a/b@r1 (3 dimensions), or ingest the documents into a new store made for c/d@r2 (4 dimensions)"
    )


def test_the_package_brings_no_web_framework() -> None:
    program = "import sys, steelyard_store.embedded; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "numpy" in loaded
    assert not loaded & {"fastapi", "starlette", "uvicorn", "aiohttp", "httpx", "pydantic", "structlog"}
