"""The fragments of the documents page: what they show is escaped, and they offer what the key may do."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.unit.runtime.raw_double import Double

from ..test_chatqna_documents import DOCUMENT, JOB, SUMMARY, Desk, asked, scopes_of
from .test_chatqna_web_pages import HOSTILE, Loaded


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def shown(desk: Desk, path: str, key: dict[str, str]) -> str:
    """A fragment, which must load and run nothing."""
    texts: list[str] = []

    async def work(client: httpx.AsyncClient, _double: Double) -> None:
        reply = await client.get(path, headers=key)
        assert reply.status_code == 200, reply.text
        texts.append(reply.text)

    desk.run(work)
    page = Loaded()
    page.feed(texts[0])
    assert (page.paths, page.refused) == ([], [])
    return texts[0]


def test_documents_are_shown_by_name_and_escaped(desk: Desk) -> None:
    key = desk.key("public", "staff", writes=True)
    desk.answer = {"documents": [{**DOCUMENT, "name": HOSTILE, "title": HOSTILE}, DOCUMENT], "next_after": "d 2&"}
    text = shown(desk, "/web/documents?matching=%22%3E%3Cscript%3E", key)
    assert "&lt;script&gt;" in text
    assert text.count("data-delete=") == 2
    assert text.index("&lt;img src") < text.index("a.md")
    assert "matching=%22%3E%3Cscript%3E&amp;after=d+2%26" in text


@pytest.mark.parametrize(
    ("found", "path", "said"),
    [
        ({"documents": []}, "", "None yet."),
        ({"documents": []}, "?matching=x", "No document has this in its name or title."),
        ({"documents": [], "next_after": "d"}, "?matching=x", "None among those that were looked through so far."),
        ({"documents": []}, "?after=d", "There are no more."),
    ],
)
def test_an_empty_page_says_what_it_means(desk: Desk, found: dict[str, Any], path: str, said: str) -> None:
    desk.answer = found
    assert said in shown(desk, f"/web/documents{path}", desk.key("public"))


def test_a_key_that_may_only_read_is_offered_nothing_else(desk: Desk) -> None:
    key = desk.key("public")
    assert "data-delete" not in shown(desk, "/web/documents", key)
    form = shown(desk, "/web/upload", key)
    assert 'id="upload"' not in form
    assert "may read documents" in form
    assert 'id="find-documents"' in form


def test_the_form_offers_the_scopes_of_the_key_and_no_other(desk: Desk) -> None:
    form = shown(desk, "/web/upload", desk.key("staff", "board", writes=True))
    assert re.findall(r"<option[^>]*>(\w+)</option>", form) == ["staff", "board", "all", "staff", "board"]
    assert "public" not in form
    alone = shown(desk, "/web/upload", desk.key("staff", writes=True))
    assert 'id="upload-scope" type="hidden" value="staff"' in alone


def test_documents_and_jobs_of_every_scope_of_the_key_are_asked_for(desk: Desk) -> None:
    key = desk.key("public", "staff")

    async def work(client: httpx.AsyncClient, double: Double) -> None:
        for path, scopes in (
            ("/web/documents", ["public", "staff"]),
            ("/web/documents?scope=staff", ["staff"]),
            ("/web/jobs", ["public", "staff"]),
            ("/web/jobs/j1", ["public", "staff"]),
        ):
            assert (await client.get(path, headers=key)).status_code == 200
            assert scopes_of(asked(double)[-1]) == scopes
        refused = await client.get("/web/documents?scope=board", headers=key)
        assert (refused.status_code, refused.json()["code"]) == (403, "scope_forbidden")

    desk.run(work)


def test_jobs_are_shown_with_states_and_causes_and_asked_again_only_while_one_runs(desk: Desk) -> None:
    key = desk.key("public")
    ended = {
        **SUMMARY, "first_name": HOSTILE, "total": 3, "state": "interrupted",
        "counts": {"rejected": 2}, "causes": {"corrupt_document": 2},
        "cause": {"code": "interrupted", "detail": "dataprep ended"},
    }  # fmt: skip
    desk.answer = {"jobs": [ended], "next_before": "j1"}
    text = shown(desk, "/web/jobs", key)
    assert "&lt;script&gt;" in text
    for said in ("interrupted", "2 rejected", "1 not done", "<code>corrupt_document</code> × 2", "before=j1"):
        assert said in text
    assert "every" not in text
    desk.answer = {"jobs": [{**SUMMARY, "state": "running", "counts": {}}]}
    assert 'hx-trigger="every 10s"' in shown(desk, "/web/jobs", key)


def test_a_job_is_shown_file_by_file(desk: Desk) -> None:
    key = desk.key("public")
    bad = {"name": HOSTILE, "status": "rejected", "error": {"code": "corrupt_document", "detail": HOSTILE}}
    desk.answer = {
        **JOB, "total": 3, "state": "interrupted", "files": [*JOB["files"], bad], "pending": ["c.md"],
        "cause": {"code": "interrupted", "detail": "dataprep ended"},
    }  # fmt: skip
    text = shown(desk, "/web/jobs/j1", key)
    for said in ("a.md", "corrupt_document", "&lt;script&gt;", "c.md", "not done", "dataprep ended"):
        assert said in text


def test_a_long_job_is_paged_and_its_rejected_files_can_be_asked_for_alone(desk: Desk) -> None:
    key = desk.key("public")
    bad = {"name": "b.pdf", "status": "rejected", "error": {"code": "corrupt_document", "detail": "no trailer"}}
    desk.answer = {
        **JOB, "total": 9000, "state": "running", "counts": {"published": 99, "rejected": 1}, "next_after": "140",
    }  # fmt: skip

    async def work(client: httpx.AsyncClient, double: Double) -> None:
        first = (await client.get("/web/jobs/j1", headers=key)).text
        assert "8900 to do" in first
        assert 'hx-get="/web/jobs/j1?" hx-trigger="every 4s"' in first
        assert 'hx-get="/web/jobs/j1?after=140"' in first
        assert 'hx-get="/web/jobs/j1?status=rejected"' in first
        desk.answer = {**desk.answer, "files": [bad], "after": "140", "next_after": "260"}
        rejected = (await client.get("/web/jobs/j1?status=rejected&after=140", headers=key)).text
        asked_for = asked(double)[-1].head.partition(" HTTP")[0]
        assert asked_for.startswith("GET /v1/dataprep/jobs/j1?")
        assert {"limit=100", "after=140", "status=rejected"} <= set(asked_for.partition("?")[2].split("&"))
        # While it runs it asks for the same page again, and the next page is of rejected files too.
        assert 'hx-get="/web/jobs/j1?status=rejected&amp;after=140" hx-trigger="every 4s"' in rejected
        assert 'hx-get="/web/jobs/j1?status=rejected&amp;after=260"' in rejected
        assert 'hx-get="/web/jobs/j1?status=rejected"' in rejected

    desk.run(work)
