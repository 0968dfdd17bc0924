from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from steelyard_store.embedded import audit, create
from steelyard_store.embedded.writing import EmbeddedWriting
from tests.conformance.store.samples import MODEL, publication, tree_publication

DAMAGES = {
    "a lost chunk": ("DELETE FROM chunk WHERE chunk_id = 'd1#1'", "document d1 does not have the chunks"),
    "a lost document": ("DELETE FROM document WHERE document_id = 'd1'", "chunk d1#0 has another revision"),
    "a mixture": ("UPDATE chunk SET revision = 'r0' WHERE chunk_id = 'd1#1'", "document d1 does not have the chunks"),
    "a widened scope": ("UPDATE chunk SET scope = 'public' WHERE chunk_id = 'd1#1'", "chunk d1#1 has another revision"),
    "a lost vector": ("DELETE FROM vector WHERE row_id = 4", "chunk d1#0 has no vector"),
    "an orphaned vector": ("INSERT INTO vector VALUES (99, zeroblob(64))", "vector 99 has no chunk"),
    "a short vector": ("UPDATE vector SET embedding = zeroblob(60) WHERE row_id = 4", "vector 4 has another length"),
    "a lost entry": ("DELETE FROM lexical WHERE rowid = 4", "chunk d1#0 is not in the full-text index"),
    "an orphaned entry": ("INSERT INTO lexical (rowid, body) VALUES (99, 'x')", "full-text entry 99 has no chunk"),
    "a node of another revision": ("UPDATE node SET revision = 'r0' WHERE node_id = 't/a'", "node t/a has another"),
    "a node of a wider scope": ("UPDATE node SET scope = 'public' WHERE node_id = 't/a'", "node t/a has another"),
    "a lost node": ("DELETE FROM node WHERE node_id = 't/a'", "chunk t#0 of a document with a tree has no node"),
    "a lost root": ("DELETE FROM node WHERE node_id = 't/'", "node t/a has no node above it"),
    "a short node vector": ("UPDATE node SET embedding = x'00' WHERE node_id = 't/a'", "the vector of node t/a"),
    "a changed entry": ("UPDATE lexical_content SET c0 = 'other' WHERE id = 4", "the full-text index contradicts"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    create(path, MODEL)
    writing = EmbeddedWriting(path, 1.0)
    for number in range(3):
        writing.publish(*publication(f"d{number}").args)
    writing.publish(*tree_publication("t", {"a": ["one"], "b": ["two"]}).args)
    writing.close()
    return path


def test_a_sound_store_has_no_findings(path: Path) -> None:
    assert audit(path) == []


@pytest.mark.parametrize(("statement", "finding"), DAMAGES.values(), ids=DAMAGES)
def test_every_kind_of_damage_is_found(path: Path, statement: str, finding: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()
    assert any(found.startswith(finding) for found in audit(path)), audit(path)
