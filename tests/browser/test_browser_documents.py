"""The documents page as people use it: uploading, finding and deleting with the keyboard, and what became of a job."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.browser.accessibility import faults
from tests.browser.devtools import Page
from tests.contract.keyed_gateway import keys
from tests.harness.processes import start, wait_ready
from tests.harness.stack import Stack

Visit = Callable[..., Any]

LISTED = "document.querySelector('#documents-title')"
JOBS = "document.querySelector('#jobs-title')"
DONE = "document.querySelector('#progress-label').textContent === 'Done'"
HOSTILE = "<img src=x onerror=alert(9)>.txt"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two that can be read, one of them with a hostile name, and two that can not."""
    made = {
        "küche.md": "# Küche\n\nDer Spüldienst beginnt um 15:30 Uhr.\n".encode(),
        HOSTILE: b"The valve is checked every 12 days.",
        "broken.pdf": b"%PDF-1.7 no",
        "empty.txt": b"",
    }
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    return [tmp_path / name for name in made]


async def upload(page: Page, url: str, *files: Path) -> list[str]:
    """What the page says about each file."""
    await page.open(f"{url}/documents")
    await page.until(f"{LISTED} && document.querySelector('#upload')")
    await page.choose("#files", *files)
    await page.js("document.querySelector('#upload button[type=submit]').focus()")
    await page.press("Enter")
    await page.until(DONE)
    said = await page.js("[...document.querySelectorAll('#uploaded li')].map((one) => one.innerText)")
    assert isinstance(said, list)
    return said


async def rows(page: Page, count: int) -> None:
    await page.until(f"document.querySelectorAll('#documents [data-delete]').length === {count}")


def test_files_are_uploaded_found_and_deleted_with_the_keyboard(stack: Stack, visit: Visit, files: list[Path]) -> None:
    async def work(page: Page) -> None:
        said = await upload(page, stack.chatqna.url, *files)
        assert [one.rpartition(" ")[0] if "chunk" in one else one.split(" ")[1] for one in said] == [
            "küche.md published 1", f"{HOSTILE} published 1", "rejected", "rejected",
        ]  # fmt: skip
        assert "corrupt_document" in said[2]
        assert "empty_document" in said[3]
        await page.js("document.querySelector('#matching').focus()")
        await page.type("KÜCHE")
        await rows(page, 1)
        await page.press("Tab")
        while (await page.focused())["text"] != "Delete":
            await page.press("Tab")
        await page.press("Enter")
        await page.until("document.querySelector('#delete-dialog').open")
        assert "küche.md" in await page.js("document.querySelector('#delete-dialog').innerText")
        # What undoes nothing is what Enter does at first.
        assert (await page.focused())["text"] == "Keep it"
        await page.press("Enter")
        await page.until("!document.querySelector('#delete-dialog').open")
        await rows(page, 1)
        await page.press("Enter")
        await page.until("document.querySelector('#delete-dialog').open")
        await page.press("Shift+Tab")
        await page.press("Enter")
        await page.until("document.querySelector('#done:not([hidden])')?.innerText === 'küche.md is deleted.'")
        await rows(page, 0)

    visit(work)
    listed = requests.post(f"{stack.chatqna.url}/v1/dataprep/get", json={"matching": "küche"}, timeout=30).json()
    assert listed["documents"] == []


def test_a_jobs_page_says_why_a_file_was_rejected(stack: Stack, visit: Visit, files: list[Path]) -> None:
    async def work(page: Page) -> None:
        await upload(page, stack.chatqna.url, *files)
        await page.until(f"{JOBS} && document.querySelector('#jobs tbody a').innerText.includes('and 3 more')")
        assert "corrupt_document" in await page.js("document.querySelector('#jobs tbody tr').innerText")
        # In one step: the list is drawn anew when another job changes it.
        await page.js("document.querySelector('#jobs tbody a').click()")
        await page.loaded()
        await page.until("document.querySelector('#job-title')")
        shown = await page.js("document.querySelector('#job').innerText")
        for said in ("2 rejected", "corrupt_document", "empty_document", HOSTILE):
            assert said in shown
        assert await page.js("document.querySelectorAll('main img, main script').length") == 0

    visit(work)


def test_many_files_are_one_job_however_many_requests_they_take(
    stack: Stack, visit: Visit, tmp_path: Path, files: list[Path]
) -> None:
    many = [tmp_path / f"note-{number:02}.txt" for number in range(43)]
    for number, path in enumerate(many):
        path.write_text(f"Valve {number} is checked every {number + 2} days.")

    async def work(page: Page) -> None:
        said = await upload(page, stack.chatqna.url, *many, *files[2:])
        assert [one.split(" published ")[0] for one in said[: len(many)]] == [path.name for path in many]
        await page.until(f"{JOBS} && document.querySelector('#jobs tbody a').innerText.includes('and 44 more')")
        newest = await page.js("document.querySelector('#jobs tbody tr').innerText")
        for told in ("done", "43 published", "2 rejected", "corrupt_document"):
            assert told in newest

    visit(work)


def test_a_second_file_of_one_name_is_not_sent_whichever_request_it_would_be_in(
    stack: Stack, visit: Visit, tmp_path: Path
) -> None:
    first, again = tmp_path / "one" / "twin.txt", tmp_path / "other" / "twin.txt"
    many = [tmp_path / f"twin-{number:02}.txt" for number in range(20)]
    for path in (first, *many, again):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"The hose of {path.parent.name} {path.name} is replaced.")

    async def work(page: Page) -> list[str]:
        return await upload(page, stack.chatqna.url, first, *many, again)

    said = visit(work)
    assert [" published " in one for one in said] == [True] * 21 + [False]
    assert "rejected invalid_request an earlier file of this upload has the same name" in said[-1]


def test_a_file_that_is_too_large_for_any_request_is_taken_back_from_the_job(
    stack: Stack, visit: Visit, tmp_path: Path
) -> None:
    small = [tmp_path / name for name in ("first.txt", "last.txt")]
    for path in small:
        path.write_text(f"The valve of {path.name} is checked.")
    large = tmp_path / "large.txt"
    with large.open("wb") as stream:
        stream.truncate(257 * 2**20)

    async def work(page: Page) -> None:
        said = await upload(page, stack.chatqna.url, small[0], small[1], large)
        assert "body_too_large" in said[2]
        await page.until(
            f"{JOBS} && document.querySelector('#jobs tbody tr').innerText.includes('first.txt and 1 more')"
        )
        assert "done" in await page.js("document.querySelector('#jobs tbody tr').innerText")

    visit(work)


def test_the_page_is_accessible_while_it_says_the_most(stack: Stack, visit: Visit, files: list[Path]) -> None:
    async def work(page: Page) -> list[str]:
        await upload(page, stack.chatqna.url, *files)
        await page.until(JOBS)
        found = await faults(page)
        await page.js("document.querySelector('#documents [data-delete]').click()")
        await page.until("document.querySelector('#delete-dialog').open")
        dialogs = [node["name"] for node in await page.accessible() if node["role"] == "dialog"]
        assert dialogs == ["Delete this document?"]
        return found

    assert visit(work) == []


def test_a_file_that_no_upload_may_hold_is_not_sent(stack: Stack, visit: Visit, tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    with large.open("wb") as stream:
        stream.truncate(257 * 2**20)

    async def work(page: Page) -> list[str]:
        return await upload(page, stack.chatqna.url, large)

    (said,) = visit(work)
    assert "rejected body_too_large larger than the 256 MiB" in said


def test_a_key_that_may_only_read_is_offered_no_change_and_a_dead_dataprep_is_named(
    stack: Stack, visit: Visit, tmp_path: Path
) -> None:
    key = keys(tmp_path / "keys.json", "add", "reader", "--scope", "public")
    common = {
        "API_KEYS_FILE": str(tmp_path / "keys.json"),
        "LEDGER_PATH": str(tmp_path / "ledgers.db"),
        "EMBEDDING_URL": stack.embedding.url,
        "RETRIEVER_URL": stack.retriever.url,
        "RERANKER_URL": stack.reranker.url,
        "LLM_URL": stack.llm.url,
    }
    gateway = start("chatqna", {**common, "DATAPREP_URL": stack.dataprep.url})
    alone = start("chatqna", {**common, "DATAPREP_URL": ""})

    async def enter(page: Page, url: str) -> None:
        await page.open(f"{url}/documents")
        await page.js(f"sessionStorage.setItem('steelyard-key', {key!r})")
        await page.open(f"{url}/documents")

    async def reads(page: Page) -> None:
        await enter(page, gateway.url)
        await page.until(LISTED)
        assert "may read documents" in await page.js("document.querySelector('#forms').innerText")
        assert await page.js("document.querySelectorAll('#upload, [data-delete]').length") == 0

    async def without(page: Page) -> None:
        await enter(page, alone.url)
        await page.until("document.querySelector('#forms').innerText.includes('DATAPREP_URL')")

    try:
        for service, work in ((gateway, reads), (alone, without)):
            wait_ready(service)
            visit(work, "the server responded with a status of 401", "Status Error Code 401")
    finally:
        gateway.stop()
        alone.stop()
