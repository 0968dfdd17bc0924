"""Documents through the gateway: what a key may see and change, and dataprep's replies with their own status."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from steelyard_chatqna.keys.file import change_keys
from steelyard_chatqna.keys.record import KeyList, new_key
from steelyard_contracts.errors import ErrorCode
from tests.unit.runtime.raw_double import Call, Double, neighbour

from .served import served

JOB = {
    "job_id": "j1", "state": "done", "scope": "public", "total": 1, "first_name": "a.md", "created_at": "2026-11-30",
    "counts": {"published": 1}, "causes": {}, "pending": [],
    "files": [{"name": "a.md", "status": "published", "chunks": 0, "tokens": 0, "notes": []}],
}  # fmt: skip
DOCUMENT = {
    "document_id": "d1", "revision": "r", "name": "a.md", "title": "T", "scope": "public",
    "media_type": "text/markdown", "size_bytes": 5, "chunks": 1, "created_at": "2026-11-30T01:02:03",
}  # fmt: skip
DETAIL = {**DOCUMENT, "content_sha256": "0", "characters": 5, "tokens": 1}
SUMMARY = {name: value for name, value in JOB.items() if name not in ("files", "pending")}
REPLIES: dict[str, Any] = {
    "ingest": JOB,
    "jobs": {"jobs": [SUMMARY]},
    "jobs/j1": JOB,
    "get": {"documents": [DOCUMENT]},
    "document": {"documents": [DETAIL]},
    "delete": {"deleted": ["d1"]},
}
READS = [
    ("GET", "jobs", None),
    ("GET", "jobs/j1", None),
    ("GET", "jobs/j1?after=7&limit=3&status=rejected", None),
    ("POST", "get", {}),
    ("GET", "document?file_path=a.md", None),
]
SCOPES = "public,staff,board"


def problem(code: ErrorCode) -> dict[str, Any]:
    return {
        "type": "t", "title": "t", "status": 400, "detail": "why", "code": code, "stage": "dataprep", "request_id": "r",
    }  # fmt: skip


class Desk:
    """The gateway before a dataprep's double; `status` and `answer` are what that says instead of the usual."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "keys.json"
        self.settings: dict[str, Any] = {"auth": "keys", "api_keys_file": self.path, "steelyard_scopes": SCOPES}
        self.status = "200 OK"
        self.extra = ""
        self.answer: Any = None

    def key(self, *scopes: str, writes: bool = False) -> dict[str, str]:
        shown, kept = new_key(f"{scopes} {writes}", scopes, 1000, writes=writes)
        change_keys(self.path, lambda before: KeyList(keys=(*before.keys, kept)))
        return {"Authorization": f"Bearer {shown}"}

    def run(self, work: Callable[[httpx.AsyncClient, Double], Awaitable[None]], **settings: Any) -> None:
        async def answer(call: Call) -> None:
            path = call.head.split(" ")[1].partition("?")[0].removeprefix("/v1/dataprep/")
            body = REPLIES.get(path, {}) if self.answer is None else self.answer
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            await call.reply(content, status=self.status, extra=self.extra)

        async def main() -> None:
            async with neighbour(answer) as double:
                known = self.settings | {"dataprep_url": double.url} | settings
                async with served(self.folder, llm_backend="extractive", **known) as client:
                    await work(client, double)

        asyncio.run(main())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def asked(double: Double) -> list[Call]:
    """The calls but for those of readiness."""
    return [call for call in double.calls if not call.head.startswith("GET /ready")]


def scopes_of(call: Call) -> list[str]:
    if call.body:
        return json.loads(call.body)["scopes"]
    query = httpx.URL(call.head.split(" ")[1]).params
    return query.get_list("scopes")


async def read(client: httpx.AsyncClient, method: str, path: str, body: Any, key: dict[str, str], *scopes: str) -> Any:
    if body is not None and scopes:
        body = {**body, "scopes": list(scopes)}
    query = [("scopes", scope) for scope in scopes] if body is None else []
    url = f"/v1/dataprep/{path}"
    return await client.request(method, str(httpx.URL(url).copy_merge_params(query)), json=body, headers=key)


@pytest.mark.parametrize(("method", "path", "body"), READS)
def test_a_key_sees_its_scopes_and_can_name_no_other(desk: Desk, method: str, path: str, body: Any) -> None:
    key = desk.key("public", "staff")

    async def work(client: httpx.AsyncClient, double: Double) -> None:
        for named, seen in ([], ["public", "staff"]), (["staff"], ["staff"]):
            reply = await read(client, method, path, body, key, *named)
            assert reply.status_code == 200, reply.text
            assert scopes_of(asked(double)[-1]) == seen
        calls = len(asked(double))
        for foreign in ("board", "absent"):
            refused = await read(client, method, path, body, key, "public", foreign)
            assert (refused.status_code, refused.json()["code"]) == (403, "scope_forbidden")
        assert len(asked(double)) == calls

    desk.run(work)


def test_what_dataprep_says_is_said(desk: Desk) -> None:
    key = desk.key("public")

    async def work(client: httpx.AsyncClient, _double: Double) -> None:
        for method, path, body in READS:
            said = (await read(client, method, path, body, key)).json()
            name = path.partition("?")[0]
            listed = said.get("documents", [said])[0] if name != "jobs" else said["jobs"][0]
            expected = {"jobs": SUMMARY, "jobs/j1": JOB, "get": DOCUMENT, "document": DETAIL}[name]
            assert {field: listed[field] for field in expected} == expected

    desk.run(work)


async def upload(client: httpx.AsyncClient, key: dict[str, str], data: bytes = b"words") -> Any:
    return await client.post("/v1/dataprep/ingest", files=[("files", ("a.md", data))], headers=key)


def test_an_upload_is_passed_on_as_it_is_and_bound_to_the_scopes_of_its_key(desk: Desk) -> None:
    key = desk.key("staff", "board", writes=True)

    async def work(client: httpx.AsyncClient, double: Double) -> None:
        body = b'--b\r\nContent-Disposition: form-data; name="files"; filename="\xc3\xbc"\r\n\r\n\x00\xff\r\n--b--\r\n'
        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        # A bound that the caller names itself is none.
        reply = await client.post("/v1/dataprep/ingest?scopes=public", content=body, headers=key | kind)
        assert (reply.status_code, reply.json()["job_id"]) == (200, "j1")
        (call,) = asked(double)
        assert call.head.startswith("POST /v1/dataprep/ingest?scopes=staff&scopes=board HTTP")
        assert (call.body, call.header("Content-Type")) == (body, kind["Content-Type"])
        assert call.header("Authorization") is None

    desk.run(work)


def test_a_key_that_may_only_read_changes_nothing(desk: Desk) -> None:
    key = desk.key("public")

    async def work(client: httpx.AsyncClient, double: Double) -> None:
        deletion = {"file_path": "d1", "scopes": ["public"]}
        for refused in (
            await upload(client, key),
            await client.post("/v1/dataprep/delete", json=deletion, headers=key),
        ):
            assert (refused.status_code, refused.json()["code"]) == (403, "write_forbidden")
        assert asked(double) == []

    desk.run(work)


def test_a_deletion_stays_in_the_scopes_of_its_key_and_guesses_none_of_several(desk: Desk) -> None:
    one, two = desk.key("staff", writes=True), desk.key("public", "staff", writes=True)

    async def work(client: httpx.AsyncClient, double: Double) -> None:
        async def delete(key: dict[str, str], **fields: Any) -> Any:
            return await client.post("/v1/dataprep/delete", json={"file_path": "d1", **fields}, headers=key)

        assert (await delete(one)).json() == {"deleted": ["d1"]}
        assert (await delete(two, scopes=["public"])).status_code == 200
        assert [scopes_of(call) for call in asked(double)] == [["staff"], ["public"]]
        for refused, code in (
            (await delete(two), "scope_required"),
            (await delete(one, scopes=["public"]), "scope_forbidden"),
        ):
            assert (refused.status_code, refused.json()["code"]) == (403, code)
        assert len(asked(double)) == 2

    desk.run(work)


@pytest.mark.parametrize(
    ("status", "state"), [("202 Accepted", "running"), ("207 Multi-Status", "done"), ("415 No", "done")]
)
def test_a_report_about_files_keeps_its_status(desk: Desk, status: str, state: str) -> None:
    key = desk.key("public", writes=True)
    desk.status, desk.answer = status, {**JOB, "state": state}

    async def work(client: httpx.AsyncClient, _double: Double) -> None:
        reply = await upload(client, key)
        assert (reply.status_code, reply.json()["state"]) == (int(status[:3]), state)

    desk.run(work)


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        (ErrorCode.STORE_UNAVAILABLE, 503, "store_unavailable"),
        (ErrorCode.OVERLOADED, 503, "overloaded"),
        (ErrorCode.NOT_FOUND, 404, "not_found"),
        (ErrorCode.SCOPE_REQUIRED, 403, "scope_required"),
        (ErrorCode.INVALID_REQUEST, 422, "invalid_request"),
        # That the gateway shows a wrong token is not its caller's fault.
        (ErrorCode.UNAUTHENTICATED, 502, "upstream_bad_reply"),
    ],
)
def test_an_error_of_dataprep_is_an_error(desk: Desk, code: ErrorCode, status: int, told: str) -> None:
    key = desk.key("public", writes=True)
    desk.status, desk.answer, desk.extra = "400 No", problem(code), "Retry-After: 7\r\n"

    async def work(client: httpx.AsyncClient, _double: Double) -> None:
        for reply in (
            await upload(client, key),
            await client.get("/v1/dataprep/jobs/j1", headers=key),
            await client.get("/web/documents", headers=key),
        ):
            assert (reply.status_code, reply.json()["code"], reply.json()["stage"]) == (status, told, "dataprep")
            if code is ErrorCode.OVERLOADED:
                assert reply.headers["retry-after"] == "7"

    desk.run(work)


@pytest.mark.parametrize(
    "answer",
    [
        {"unexpected": 1},
        b'{"jobs": [], "jobs": []}',
        json.dumps(JOB).replace("{", '{"job_id": "other", ', 1).encode(),
        b'{"jobs": [NaN]}',
        b"<html>",
        b"",
    ],
)
def test_a_reply_that_is_none_is_an_error(desk: Desk, answer: Any) -> None:
    key = desk.key("public", writes=True)
    desk.answer = answer

    async def work(client: httpx.AsyncClient, _double: Double) -> None:
        for reply in (await upload(client, key), await client.get("/v1/dataprep/jobs", headers=key)):
            assert (reply.status_code, reply.json()["code"]) == (502, "upstream_bad_reply")

    desk.run(work)


def test_only_an_upload_may_be_large_and_it_has_a_limit_of_its_own(desk: Desk) -> None:
    key = desk.key("public", writes=True)
    limits = {"steelyard_max_body_mb": 1, "dataprep_max_upload_mb": 2}

    async def work(client: httpx.AsyncClient, double: Double) -> None:
        assert (await upload(client, key, b"x" * 1_500_000)).status_code == 200
        calls = len(asked(double))
        refused = await upload(client, key, b"x" * 2_200_000)
        assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")
        assert len(asked(double)) == calls
        large = {"file_path": "x" * 1_500_000}
        assert (await client.post("/v1/dataprep/delete", json=large, headers=key)).status_code == 413

        async def undeclared() -> AsyncIterator[bytes]:
            for _ in range(3):
                yield b"x" * 1_000_000

        refused = await client.post("/v1/dataprep/ingest", content=undeclared(), headers=key)
        assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")

    desk.run(work, **limits)


def test_without_keys_a_form_says_its_scope_itself_and_another_sites_page_is_refused(desk: Desk) -> None:
    async def work(client: httpx.AsyncClient, double: Double) -> None:
        assert (await upload(client, {"Origin": "http://127.0.0.1"})).status_code == 200
        (call,) = asked(double)
        assert call.head.startswith("POST /v1/dataprep/ingest HTTP")
        for origin in ("https://elsewhere.example", "null", "http://127.0.0.1:9999"):
            refused = await upload(client, {"Origin": origin})
            assert (refused.status_code, refused.json()["code"]) == (403, "host_forbidden")
        assert len(asked(double)) == 1

    desk.run(work, auth="off", api_keys_file=None)


def test_without_a_dataprep_everything_says_so(desk: Desk) -> None:
    key = desk.key("public", writes=True)

    async def work(client: httpx.AsyncClient, _double: Double) -> None:
        assert (await client.get("/ready")).json()["ready"]
        replies = [await read(client, method, path, body, key) for method, path, body in READS]
        for reply in [*replies, await upload(client, key)]:
            assert (reply.status_code, reply.json()["code"]) == (403, "documents_disabled")
            assert "DATAPREP_URL" in reply.json()["detail"]
        assert "DATAPREP_URL" in (await client.get("/web/upload", headers=key)).text

    desk.run(work, dataprep_url=None)


def test_a_dataprep_that_is_gone_leaves_the_gateway_ready_and_is_named(desk: Desk) -> None:
    key = desk.key("public", writes=True)

    async def work(client: httpx.AsyncClient, _double: Double) -> None:
        ready = (await client.get("/ready")).json()
        (dataprep,) = [one for one in ready["dependencies"] if one["name"] == "dataprep"]
        assert (ready["ready"], dataprep["ready"], dataprep["required"]) == (True, False, False)
        reply = await upload(client, key)
        assert (reply.status_code, reply.json()["code"]) == (502, "upstream_unreachable")

    desk.run(work, dataprep_url="http://127.0.0.1:9")
