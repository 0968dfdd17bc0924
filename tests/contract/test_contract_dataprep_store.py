"""dataprep -> embedding -> store: a file is wholly there, unchanged, or rejected by name."""

import asyncio
import hashlib
from pathlib import Path

import pytest
import requests

from steelyard_store.embedded import EmbeddedReader
from steelyard_store.records import Filter
from tests.harness.stack import Stack, post

JAPANESE = "# 保守\n\nポンプのシールは500時間ごとに点検します。\n\n## 交換\n\nシールZQ-77を使用してください。\n"


async def stored_texts(store: Path, document_ids: set[str]) -> dict[str, str]:
    """The full texts as they are in the store."""
    async with EmbeddedReader(store) as reader:
        found = {one: await reader.document(one, Filter(["public"])) for one in document_ids}
    return {one: document.text for one, document in found.items() if document is not None}


def test_spans_point_into_the_stored_text(stack: Stack) -> None:
    assert stack.ingest(("保守手順.md", JAPANESE.encode())).status_code == 200
    found = stack.retrieve("シール ZQ-77", k=20, search_type="hybrid").json()
    texts = asyncio.run(stored_texts(stack.folder / "store.db", {entry["document_id"] for entry in found["metadata"]}))
    assert {"保守手順.md", "handbook.md"} <= {entry["source"] for entry in found["metadata"]}
    for doc, entry in zip(found["retrieved_docs"], found["metadata"], strict=True):
        assert texts[entry["document_id"]][entry["char_start"] : entry["char_end"]] == doc["text"]


def test_the_same_content_again_changes_nothing(stack: Stack) -> None:
    first = stack.ingest(("twice.txt", b"Valve V-9 opens at 4 bar.")).json()["files"][0]
    second = stack.ingest(("twice.txt", b"Valve V-9 opens at 4 bar.")).json()["files"][0]
    assert (first["status"], second["status"]) == ("published", "unchanged")
    assert {k: first[k] for k in ("document_id", "revision", "chunks")} == {
        k: second[k] for k in ("document_id", "revision", "chunks")
    }


def test_changed_content_replaces_all_at_once(stack: Stack) -> None:
    stack.ingest(("limits.txt", b"The limit of line L-1 is 7 bar."))
    replaced = stack.ingest(("limits.txt", b"The limit of line L-1 is 9 bar.")).json()["files"][0]
    assert replaced["status"] == "replaced"
    texts = [
        doc["text"] for doc in stack.retrieve("limit of line L-1", k=50, search_type="hybrid").json()["retrieved_docs"]
    ]
    assert "The limit of line L-1 is 9 bar." in texts
    assert "The limit of line L-1 is 7 bar." not in texts


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("empty.txt", b"", "empty_document"),
        ("blank.md", b"  \n \n", "empty_document"),
        ("broken.pdf", b"%PDF-1.7\nnot really", "corrupt_document"),
        ("broken.docx", b"PK\x03\x04 nor this", "corrupt_document"),
        ("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(64), "unsupported_type"),
    ],
)
def test_a_bad_file_is_rejected_and_the_others_go_on(stack: Stack, name: str, data: bytes, code: str) -> None:
    good = f"Nozzle N-{hashlib.sha256(data).hexdigest()[:6]} is made of brass."
    reply = stack.ingest((name, data), (f"good-{code}-{name}.txt", good.encode()))
    assert reply.status_code == 207
    bad, fine = reply.json()["files"]
    assert bad["status"] == "rejected"
    assert bad["error"]["code"] == code, bad
    assert fine["status"] == "published"
    alone = stack.ingest((name, data))
    assert alone.status_code in (413, 415, 422)


def test_delete_really_deletes(stack: Stack) -> None:
    stack.ingest(("gone.txt", b"Gasket G-3 is obsolete."))
    deleted = post(stack.dataprep, "/v1/dataprep/delete", {"file_path": "gone.txt"})
    assert deleted.status_code == 200
    assert len(deleted.json()["deleted"]) == 1
    texts = [doc["text"] for doc in stack.retrieve("Gasket G-3", k=50, search_type="hybrid").json()["retrieved_docs"]]
    assert "Gasket G-3 is obsolete." not in texts
    again = post(stack.dataprep, "/v1/dataprep/delete", {"file_path": "gone.txt"})
    assert (again.status_code, again.json()["code"]) == (404, "not_found")


def test_a_scope_is_chosen_at_ingest_and_an_unknown_one_refused(stack: Stack) -> None:
    url = f"{stack.dataprep.url}/v1/dataprep/ingest"
    upload = [("files", ("internal.txt", b"Project Osprey starts in May."))]
    assert requests.post(url, files=upload, data={"scope": "internal"}, timeout=60).status_code == 200
    assert requests.post(url, files=upload, data={"scope": "secret"}, timeout=60).json()["code"] == "scope_unknown"
    public = stack.retrieve("Project Osprey", k=50, search_type="hybrid").json()
    assert all("Osprey" not in doc["text"] for doc in public["retrieved_docs"])
    internal = stack.retrieve("Project Osprey", k=50, search_type="hybrid", scopes=["internal"]).json()
    assert [doc["text"] for doc in internal["retrieved_docs"]] == ["Project Osprey starts in May."]


def test_unknown_fields_and_links_are_refused(stack: Stack) -> None:
    url = f"{stack.dataprep.url}/v1/dataprep/ingest"
    upload = [("files", ("a.txt", b"a"))]
    unknown = requests.post(url, files=upload, data={"chunk_sise": "5", "no name": "x"}, timeout=60)
    assert unknown.status_code == 422
    assert unknown.json()["detail"].startswith("chunk_sise, (a key): the form has no such field; known are files, ")
    assert [fault["field"] for fault in unknown.json()["errors"]] == ["chunk_sise", "(a key)"]
    links = requests.post(url, data={"link_list": '["http://example.org"]'}, timeout=60)
    assert (links.status_code, links.json()["code"]) == (403, "links_disabled")
    assert requests.post(url, data={"scope": "public"}, timeout=60).status_code == 422


def test_a_bad_name_rejects_that_file_and_not_its_batch(stack: Stack) -> None:
    reply = stack.ingest(("../escape.txt", b"Rail R-1 is bent."), ("rail.txt", b"Rail R-2 is straight."))
    assert reply.status_code == 207
    bad, good = reply.json()["files"]
    assert (bad["status"], bad["error"]["code"]) == ("rejected", "invalid_request")
    assert good["status"] == "published"


@pytest.mark.parametrize("name", ['rail "main".txt', " rail.txt", "rail;side='x'.txt", "100%.txt", "rail%20.txt"])
def test_a_document_is_known_by_the_name_that_its_file_has(stack: Stack, name: str) -> None:
    reply = stack.ingest((name, b"Rail R-3 is new."))
    assert (reply.status_code, reply.json()["files"][0]["name"]) == (200, name)
    post(stack.dataprep, "/v1/dataprep/delete", {"file_path": name})


def test_a_second_file_of_one_name_does_not_replace_the_first_of_its_upload(stack: Stack) -> None:
    reply = stack.ingest(("rail-5ü.txt", b"Rail R-5 is green."), ("rail-5u\u0308.txt", b"Rail R-5 is red."))
    assert reply.status_code == 207
    first, second = reply.json()["files"]
    assert first["status"] == "published"
    assert (second["status"], second["error"]["code"]) == ("rejected", "invalid_request")
    assert "the same name" in second["error"]["detail"]
    texts = asyncio.run(stored_texts(stack.folder / "store.db", {first["document_id"]}))
    assert texts == {first["document_id"]: "Rail R-5 is green."}


def test_a_name_with_a_line_end_is_rejected_and_not_changed(stack: Stack) -> None:
    reply = stack.ingest(("rail\nmain.txt", b"Rail R-4 is old."))
    assert (reply.status_code, reply.json()["files"][0]["error"]["code"]) == (422, "invalid_request")
    assert "control characters" in reply.json()["files"][0]["error"]["detail"]


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "application/json"}])
def test_opeas_clients_list_documents_without_a_body(stack: Stack, headers: dict[str, str]) -> None:
    url = stack.dataprep.url + "/v1/dataprep/get"
    listed = requests.post(url, headers=headers, timeout=60)
    assert listed.status_code == 200, listed.text
    assert isinstance(listed.json()["documents"], list)
    assert requests.post(url, data=b"{}", timeout=60).status_code == 415


def test_a_body_that_is_cut_off_loses_no_file_silently(stack: Stack) -> None:
    part = '--cut\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n{text}\r\n'
    whole = part.format(name="cut-1.txt", text="Hinge H-1.") + part.format(name="cut-2.txt", text="Hinge H-2.")
    headers = {"Content-Type": "multipart/form-data; boundary=cut"}
    url = f"{stack.dataprep.url}/v1/dataprep/ingest"
    cut = requests.post(url, data=whole[:-6].encode(), headers=headers, timeout=60)
    assert (cut.status_code, cut.json()["code"]) == (422, "invalid_request")
    complete = requests.post(url, data=(whole + "--cut--\r\n").encode(), headers=headers, timeout=60)
    assert [one["status"] for one in complete.json()["files"]] == ["published", "published"]


def test_json_keeps_the_common_limit_beside_large_uploads(stack: Stack) -> None:
    reply = post(stack.dataprep, "/v1/dataprep/delete", {"file_path": "x" * (17 * 2**20)})
    assert (reply.status_code, reply.json()["code"]) == (413, "body_too_large")
