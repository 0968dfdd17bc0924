"""Manifests: what is frozen stays frozen, and what does not fit together is refused."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from steelyard_evidence.errors import ManifestError, ManifestHashError
from steelyard_evidence.manifest import Manifest, read_manifest, write_manifest
from tests.unit.evidence.samples import manifest, query


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "manifest.json"
    write_manifest(manifest(), target)
    return target


def test_what_was_written_is_read_and_writing_again_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    found = read_manifest(path)
    assert found == manifest()
    write_manifest(found, path)
    assert path.read_bytes() == before


def _at(*keys: str | int) -> tuple[str | int, ...]:
    return keys


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (_at("context_budget"), 151),
        (_at("pair_limit"), 99),
        (_at("queries", 0, "query"), "Another?"),
        (_at("queries", 0, "units", 0, "grade"), 2),
        (_at("queries", 0, "candidates", 0, "tokens"), 49),
        (_at("reranker", "sha256"), "0" * 64),
        (_at("preprocessing"), "other"),
    ],
)
def test_a_change_after_freezing_is_refused(path: Path, keys: tuple[str | int, ...], value: object) -> None:
    data = json.loads(path.read_text())
    *way, last = keys
    inner = data
    for key in way:
        inner = inner[key]
    assert inner[last] != value
    inner[last] = value
    path.write_text(json.dumps(data))
    with pytest.raises(ManifestHashError, match="its content has the hash"):
        read_manifest(path)


def test_the_order_of_candidates_is_part_of_the_hash(path: Path) -> None:
    data = json.loads(path.read_text())
    data["queries"][0]["candidates"].reverse()
    path.write_text(json.dumps(data))
    with pytest.raises(ManifestHashError):
        read_manifest(path)


def test_a_manifest_without_its_hash_is_refused(path: Path) -> None:
    data = json.loads(path.read_text())
    del data["sha256"]
    path.write_text(json.dumps(data))
    with pytest.raises(ManifestHashError, match="not none"):
        read_manifest(path)


def test_an_edited_text_is_named(path: Path) -> None:
    data = json.loads(path.read_text())
    data["queries"][0]["candidates"][1]["text"] += "!"
    path.write_text(json.dumps(data))
    with pytest.raises(ManifestError, match=r"queries\.0\.candidates\.1: the text of candidate 'c2'"):
        read_manifest(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"surprise": 1}, "surprise"),
        ({"format": "steelyard-manifest/2"}, "format"),
        ({"pair_limit": 0}, "pair_limit"),
        ({"context_budget": "100"}, "context_budget"),
    ],
)
def test_another_form_is_refused_by_name(path: Path, change: dict[str, object], said: str) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ManifestError, match=said):
        read_manifest(path)


def test_what_is_no_file_or_no_json_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="No such file"):
        read_manifest(tmp_path / "absent.json")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ManifestError, match="the document"):
        read_manifest(tmp_path / "broken.json")


def test_what_does_not_fit_together_is_refused() -> None:
    one = query(1).model_dump()
    with pytest.raises(ValidationError, match="a query id appears twice"):
        Manifest.model_validate({**manifest().model_dump(), "queries": [one, one]})
    with pytest.raises(ValidationError, match="has a candidate twice"):
        type(query(1)).model_validate({**one, "candidates": [one["candidates"][0]] * 2, "units": []})
    outside = {"candidate_id": "c1", "start": 0, "end": 10_000, "unit_start": 0, "unit_end": 1}
    with pytest.raises(ValidationError, match="lies outside of candidate 'c1'"):
        type(query(1)).model_validate({**one, "units": [{"unit_id": "u", "length": 9, "places": [outside]}]})
    too_much = {**outside, "end": 4, "unit_end": 10}
    with pytest.raises(ValidationError, match="holds more than all of 'u'"):
        type(query(1)).model_validate({**one, "units": [{"unit_id": "u", "length": 9, "places": [too_much]}]})
