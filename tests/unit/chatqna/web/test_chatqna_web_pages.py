"""The pages hold no data and load nothing from elsewhere; what they show is escaped."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from steelyard_chatqna.web.assets import static
from steelyard_chatqna.web.pages import PUBLIC_PATHS

from ..fakes import QUESTION
from ..served import served

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def visit(folder: Path, look: Callable[[httpx.AsyncClient], Awaitable[Any]], **settings: Any) -> Any:
    async def main() -> Any:
        async with served(folder, llm_backend="extractive", **settings) as client:
            return await look(client)

    return asyncio.run(main())


class Loaded(HTMLParser):
    """Collects what a page loads, and whatever the content security policy would refuse."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []
        self.refused: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "link", "img"):
            self.paths.append(str(given.get("src") or given.get("href")))
        self.refused += [f"{tag} {name}" for name in given if name.startswith("on") or name == "style"]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.refused.append(tag)


@pytest.mark.parametrize("path", sorted(one for one in PUBLIC_PATHS if not one.startswith("/static/")))
def test_a_page_loads_only_what_the_package_has(tmp_path: Path, path: str) -> None:
    reply = visit(tmp_path, lambda client: client.get(path))
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    page = Loaded()
    page.feed(reply.text)
    assert page.refused == []
    assert page.paths
    assert set(page.paths) <= {f"/static/{name}" for name in static()}
    assert reply.text.count('aria-current="page"') == 1


def test_scripts_import_only_what_the_package_has() -> None:
    for name, asset in static().items():
        if name.endswith(".js") and name != "htmx.min.js":
            imported = re.findall(r'from "([^"]+)"', asset.body.decode())
            assert {one.removeprefix("/static/") for one in imported} <= set(static()), name


def test_a_file_is_sent_again_only_when_it_has_changed(tmp_path: Path) -> None:
    async def look(client: httpx.AsyncClient) -> Any:
        first = await client.get("/static/app.css")
        again = await client.get("/static/app.css", headers={"If-None-Match": first.headers["etag"]})
        return first, again, await client.get("/static/absent.css")

    first, again, absent = visit(tmp_path, look)
    assert (first.status_code, first.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert first.content == static()["app.css"].body
    assert (again.status_code, again.content) == (304, b"")
    assert (absent.status_code, absent.json()["code"]) == (404, "not_found")


def test_the_evidence_of_an_answer_is_shown_and_escaped(tmp_path: Path) -> None:
    async def look(client: httpx.AsyncClient) -> Any:
        body = {"messages": f"{QUESTION} {HOSTILE}", "stream": False}
        said = (await client.post("/v1/chatqna", json=body)).json()["steelyard"]
        return await client.get(f"/web/evidence/{said['ledger_id']}"), await client.get("/web/evidence/absent")

    shown, absent = visit(tmp_path, look)
    assert shown.status_code == 200
    page = Loaded()
    page.feed(shown.text)
    assert (page.paths, page.refused) == ([], [])
    assert "&lt;script&gt;" in shown.text
    assert shown.text.count('<article class="candidate">') == 3
    assert shown.headers["cache-control"] == "no-store"
    assert absent.status_code == 404
    assert json.loads(absent.text)["code"] == "not_found"


def test_the_services_are_shown_with_their_causes(tmp_path: Path) -> None:
    shown = visit(tmp_path, lambda client: client.get("/web/services"), embedding_url="http://127.0.0.1:9")
    assert "The gateway is not ready." in shown.text
    assert "can not be reached" in shown.text
