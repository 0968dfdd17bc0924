"""The app with API keys: every route is guarded, in its caller's dialect, and a key sees its scopes and no more."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from steelyard_chatqna.app import build
from steelyard_chatqna.keys.file import change_keys
from steelyard_chatqna.keys.record import KeyList, new_key
from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_contracts.errors import Problem
from steelyard_runtime.guard import HEALTH_PATHS

from .fakes import QUESTION
from .served import served

TOKEN = "service-token-0123456789"


class Keys:
    """A key file with one key for each set of scopes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "keys.json"
        (folder / "token").write_text(TOKEN)
        self.settings: dict[str, Any] = {
            "auth": "keys",
            "api_keys_file": self.path,
            "llm_backend": "extractive",
            "steelyard_scopes": "public,staff,board",
            "steelyard_service_token_file": str(folder / "token"),
        }
        self.public = self.add("public")
        self.staff = self.add("staff")
        self.both = self.add("public", "staff")
        self.gone = self.add("abolished")

    def add(self, *scopes: str, rate: int = 1000) -> dict[str, str]:
        shown, kept = new_key(" and ".join(scopes), scopes, rate)
        change_keys(self.path, lambda before: KeyList(keys=(*before.keys, kept)))
        return {"Authorization": f"Bearer {shown}"}

    def run(self, folder: Path, work: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
        async def main() -> None:
            async with served(folder, **self.settings) as client:
                await work(client)

        asyncio.run(main())


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path)


def test_every_route_but_health_asks_for_a_key(keys: Keys, tmp_path: Path) -> None:
    app = build(ChatqnaSettings(**keys.settings, ledger_path=tmp_path / "l.db"))
    routes = [(method.upper(), path) for path, item in app.openapi()["paths"].items() for method in item]
    assert len(routes) > 10

    async def work(client: httpx.AsyncClient) -> None:
        for method, path in [*routes, ("GET", "/openapi.json"), ("GET", "/nowhere")]:
            status = (await client.request(method, path)).status_code
            assert (status == 401) == (path not in HEALTH_PATHS), (method, path, status)
            assert (await client.request(method, path, headers=keys.public)).status_code != 401, path

    keys.run(tmp_path, work)


def test_the_refusal_speaks_the_routes_dialect(keys: Keys, tmp_path: Path) -> None:
    async def work(client: httpx.AsyncClient) -> None:
        for path in ("/v1/models", "/v1/chat/completions"):
            method = "GET" if path == "/v1/models" else "POST"
            reply = await client.request(method, path)
            assert (reply.status_code, reply.json()["error"]["code"]) == (401, "unauthenticated")
            assert reply.headers["WWW-Authenticate"] == "Bearer"
        problem = Problem.model_validate((await client.post("/v1/chatqna", json={"messages": QUESTION})).json())
        assert (problem.status, problem.code) == (401, "unauthenticated")
        slow = keys.add("public", "board", rate=1)
        assert (await client.get("/v1/models", headers=slow)).status_code == 200
        limited = await client.get("/v1/models", headers=slow)
        assert (limited.status_code, limited.json()["error"]["code"]) == (429, "rate_limited")
        assert 1 <= int(limited.headers["Retry-After"]) <= 60

    keys.run(tmp_path, work)


async def scopes_of(client: httpx.AsyncClient, key: dict[str, str], **fields: Any) -> tuple[int, Any]:
    reply = await client.post("/v1/inspect", json={"messages": QUESTION, **fields}, headers=key)
    body = reply.json()
    return reply.status_code, body.get("scopes", body.get("code"))


def test_a_key_searches_its_scopes_and_no_others(keys: Keys, tmp_path: Path) -> None:
    async def work(client: httpx.AsyncClient) -> None:
        assert await scopes_of(client, keys.public) == (200, ["public"])
        assert await scopes_of(client, keys.both) == (200, ["public", "staff"])
        assert await scopes_of(client, keys.both, scopes=["public"]) == (200, ["public"])
        assert await scopes_of(client, keys.public, scopes=["staff"]) == (403, "scope_forbidden")
        assert await scopes_of(client, keys.public, scopes=["public", "staff"]) == (403, "scope_forbidden")
        assert await scopes_of(client, keys.public, scopes=["no such"]) == (403, "scope_forbidden")
        assert await scopes_of(client, keys.public, scopes=[]) == (403, "scope_required")
        assert await scopes_of(client, keys.gone) == (403, "scope_forbidden")
        chat = {"messages": [{"role": "user", "content": QUESTION}], "scopes": ["staff"]}
        reply = await client.post("/v1/chat/completions", json=chat, headers=keys.public)
        assert (reply.status_code, reply.json()["error"]["code"]) == (403, "scope_forbidden")

    keys.run(tmp_path, work)


def test_a_candidate_outside_of_the_keys_scopes_is_no_answer(keys: Keys, tmp_path: Path) -> None:
    """The retriever's double finds chunks of `public` whatever it is asked: that must not reach a key of `staff`."""

    async def work(client: httpx.AsyncClient) -> None:
        reply = await client.post("/v1/inspect", json={"messages": QUESTION}, headers=keys.staff)
        assert (reply.status_code, reply.json()["code"]) == (403, "scope_unknown")

    keys.run(tmp_path, work)


def test_a_ledger_is_read_listed_and_replayed_by_keys_that_cover_it(keys: Keys, tmp_path: Path) -> None:
    async def work(client: httpx.AsyncClient) -> None:
        made = (await client.post("/v1/inspect", json={"messages": QUESTION}, headers=keys.both)).json()
        assert made["key_id"] == keys.both["Authorization"].split("_")[1]
        path = f"/v1/ledgers/{made['ledger_id']}"
        nowhere = (await client.get("/v1/ledgers/none", headers=keys.public)).json()
        for key, status in ((keys.both, 200), (keys.public, 404), (keys.staff, 404), (keys.gone, 404)):
            reply = await client.get(path, headers=key)
            assert reply.status_code == status
            # One that exists and one that does not look the same.
            assert status == 200 or reply.json()["detail"] == nowhere["detail"]
            listed = (await client.get("/v1/ledgers", headers=key)).json()["ledgers"]
            assert [one["ledger_id"] for one in listed] == ([made["ledger_id"]] if status == 200 else [])
            replayed = await client.post("/v1/replay", json={"ledger_id": made["ledger_id"]}, headers=key)
            assert (replayed.status_code == 404) == (status == 404)

    keys.run(tmp_path, work)


def test_operations_need_a_key_or_the_services_token_and_health_needs_none(keys: Keys, tmp_path: Path) -> None:
    async def work(client: httpx.AsyncClient) -> None:
        token = {"Authorization": f"Bearer {TOKEN}"}
        for path in ("/metrics", "/info", "/v1/statistics"):
            assert (await client.get(path)).status_code == 401
            assert (await client.get(path, headers=token)).status_code == 200
        assert (await client.get("/v1/models", headers=token)).status_code == 401
        for path in sorted(HEALTH_PATHS):
            assert (await client.get(path)).status_code == 200

    keys.run(tmp_path, work)


def test_without_keys_the_default_scope_is_searched_and_others_must_exist(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(tmp_path, llm_backend="extractive", steelyard_scopes="public,staff") as client:
            assert await scopes_of(client, {}) == (200, ["public"])
            assert await scopes_of(client, {}, scopes=["public", "staff"]) == (200, ["public", "staff"])
            assert await scopes_of(client, {}, scopes=["none"]) == (403, "scope_unknown")
            assert await scopes_of(client, {}, scopes=[]) == (403, "scope_required")
            rebound = await client.get("/v1/models", headers={"Host": "elsewhere.example"})
            assert (rebound.status_code, rebound.json()["error"]["code"]) == (403, "host_forbidden")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "AUTH='keys' needs API_KEYS_FILE"),
        ({"auth": "off", "steelyard_bind_host": "0.0.0.0", "steelyard_service_token_file": "/t"}, "loopback only"),
        ({"auth": "none"}, "auth"),
    ],
)
def test_a_gateway_that_anybody_could_ask_does_not_start(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ChatqnaSettings(**given)


def test_a_key_file_that_can_not_be_read_ends_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"API_KEYS_FILE: .*none\.json does not exist"):
        build(ChatqnaSettings(api_keys_file=tmp_path / "none.json", ledger_path=tmp_path / "l.db"))
