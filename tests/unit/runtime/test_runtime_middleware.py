"""The middleware over a real socket: limits, deadlines, identity, cancellation, and replies that break off."""

import http.client
import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from fastapi import APIRouter, FastAPI

from steelyard_contracts.enums import Stage
from steelyard_runtime.app import Service, create_app
from steelyard_runtime.settings.groups import ProcessSettings

from .conftest import Address, serving
from .sample_service import MAX_BODY_MB, MAX_UPLOAD_MB, Watch, sample_app

Serve = Callable[[FastAPI], Address]


def ask(
    address: Address, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], Any]:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=20)
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **(headers or {})}
    try:
        connection.request(method, path, data, sent)
        reply = connection.getresponse()
        raw = reply.read()
        got = {name.lower(): value for name, value in reply.getheaders()}
    finally:
        connection.close()
    return reply.status, got, json.loads(raw) if "json" in got.get("content-type", "") else raw


def raw(address: Address, request: bytes) -> bytes:
    with address.connect() as connection:
        connection.sendall(request)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def reply_on(connection: socket.socket) -> tuple[int, Any]:
    reply = http.client.HTTPResponse(connection)
    reply.begin()
    try:
        return reply.status, json.loads(reply.read())
    finally:
        reply.close()


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    """One server for the tests that leave nothing behind in it."""
    with serving(sample_app()) as running:
        yield running


def test_every_reply_has_the_common_headers(address: Address) -> None:
    status, got, body = ask(address, "POST", "/v1/sample", {"text": "a"}, {"X-Request-Id": "mine-1"})
    assert (status, body) == (200, {"got": {"text": "a"}})
    assert got["x-request-id"] == "mine-1"
    assert re.fullmatch(r"[0-9a-f]{16}", got["x-policy-hash"])
    assert "total;dur=" in got["server-timing"]


@pytest.mark.parametrize("given", ["", "with space", "x" * 129, "tab\tin"])
def test_an_unusable_request_id_is_replaced(address: Address, given: str) -> None:
    _, got, _ = ask(address, "GET", "/live", headers={"X-Request-Id": given})
    assert re.fullmatch(r"[0-9a-f]{32}", got["x-request-id"])


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", True),
        ("00-XYZ", False),
        ("junk", False),
    ],
)
def test_only_a_well_formed_traceparent_is_passed_on(address: Address, given: str, seen: bool) -> None:
    _, _, body = ask(address, "POST", "/v1/logs", {}, {"traceparent": given})
    assert body["trace"] == (given if seen else "None")


def test_timings_of_stages_are_in_the_reply(address: Address) -> None:
    _, got, _ = ask(address, "POST", "/v1/logs", {})
    assert re.match(r"reading;dur=\d+\.\d, total;dur=", got["server-timing"])


@pytest.mark.parametrize("deadline", ["0", "-1", "-999999999999"])
def test_expired_work_is_not_started(serve: Serve, deadline: str) -> None:
    watch = Watch()
    address = serve(sample_app(watch=watch))
    status, _, problem = ask(address, "POST", "/v1/waits", {}, {"X-Deadline-Ms": deadline})
    assert (status, problem["code"]) == (504, "deadline_exceeded")
    assert not watch.started.is_set()


@pytest.mark.parametrize("deadline", ["", "soon", "1.5", "1e3", "+5", "NaN", "9" * 13, "0x10", "1 000"])
def test_a_deadline_that_is_no_number_is_refused(address: Address, deadline: str) -> None:
    status, got, problem = ask(address, "POST", "/v1/sample", {}, {"X-Deadline-Ms": deadline, "X-Request-Id": "r"})
    assert (status, problem["code"], problem["request_id"]) == (422, "invalid_request", "r")
    assert got["x-request-id"] == "r"
    assert not deadline or deadline not in problem["detail"]


def test_work_is_cut_off_at_its_deadline(serve: Serve) -> None:
    watch = Watch()
    address = serve(sample_app(watch=watch))
    status, _, problem = ask(address, "POST", "/v1/waits", {}, {"X-Deadline-Ms": "50"})
    assert (status, problem["code"], problem["stage"]) == (504, "deadline_exceeded", "retriever")
    assert watch.cancelled.wait(20)


def test_the_service_has_its_own_limit_of_time(serve: Serve) -> None:
    address = serve(sample_app(steelyard_request_timeout_s=0.05))
    status, _, problem = ask(address, "POST", "/v1/waits", {}, {"X-Deadline-Ms": "60000"})
    assert (status, problem["code"]) == (504, "deadline_exceeded")


def test_a_client_that_leaves_while_it_sends_is_no_fault_of_the_service(serve: Serve) -> None:
    address = serve(sample_app())
    with address.connect() as connection:
        connection.sendall(b"POST /v1/streamed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nsome")
    counted = b'steelyard_requests_total{endpoint="/v1/streamed",status="499"} 1.0'
    while counted not in (said := ask(address, "GET", "/metrics")[2]):
        assert b'endpoint="/v1/streamed"' not in said


def test_a_client_that_leaves_cancels_the_work(serve: Serve) -> None:
    watch = Watch()
    address = serve(sample_app(watch=watch))
    with address.connect() as connection:
        connection.sendall(
            b"POST /v1/waits HTTP/1.1\r\nHost: [::1]\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        )
        assert watch.started.wait(20)
        assert not watch.cancelled.is_set()
    assert watch.cancelled.wait(20)
    text = ask(address, "GET", "/metrics")[2].decode()
    assert 'steelyard_requests_total{endpoint="/v1/waits",status="499"} 1.0' in text


def test_a_client_that_leaves_a_stream_cancels_it(serve: Serve) -> None:
    watch = Watch()
    address = serve(sample_app(watch=watch))
    with address.connect() as connection:
        connection.sendall(b"GET /v1/streams-forever HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert watch.started.wait(20)
        assert connection.recv(1024)
    assert watch.cancelled.wait(20)


def test_work_after_the_reply_is_not_cut_off(serve: Serve) -> None:
    watch = Watch()
    address = serve(sample_app(watch=watch, steelyard_request_timeout_s=0.1))
    assert ask(address, "POST", "/v1/works-after-its-reply", {}, {"Connection": "close"})[0] == 200
    assert watch.after_reply.wait(20)


def test_a_stream_is_cut_off_at_its_deadline_and_the_client_can_tell(serve: Serve) -> None:
    watch = Watch()
    address = serve(sample_app(watch=watch))
    reply = raw(address, b"GET /v1/streams-forever HTTP/1.1\r\nHost: localhost\r\nX-Deadline-Ms: 100\r\n\r\n")
    assert b"part," in reply
    assert not reply.endswith(b"0\r\n\r\n")
    assert watch.cancelled.wait(20)


def test_an_error_in_the_middle_of_a_reply_breaks_it_off(address: Address) -> None:
    reply = raw(address, b"GET /v1/breaks HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert reply.startswith(b"HTTP/1.1 200")
    assert b"first part," in reply
    assert not reply.endswith(b"0\r\n\r\n")
    assert b"CANARY" not in reply
    connection = http.client.HTTPConnection(address.host, address.port, timeout=20)
    connection.request("GET", "/v1/breaks")
    with pytest.raises(http.client.IncompleteRead):
        connection.getresponse().read()
    connection.close()


def test_an_unexpected_error_is_a_problem_that_says_nothing(address: Address) -> None:
    status, got, problem = ask(address, "GET", "/v1/boom", headers={"X-Request-Id": "find-me"})
    assert (status, got["content-type"]) == (500, "application/problem+json")
    assert (problem["code"], problem["request_id"], got["x-request-id"]) == ("internal", "find-me", "find-me")
    assert "CANARY" not in json.dumps(problem)


def test_a_domain_error_has_its_code_in_openai_form_on_openai_paths(address: Address) -> None:
    status, _, body = ask(address, "GET", "/v1/domain")
    assert status == 503
    assert body["error"]["code"] == "store_unavailable"
    assert body["error"]["type"] == "server_error"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing-here", 404, "not_found"),
        ("GET", "/v1/items/1/", 404, "not_found"),
        ("GET", "/v1/sample", 405, "method_not_allowed"),
        ("POST", "/v1/items/1", 405, "method_not_allowed"),
        ("GET", "/v1/items/1?limit=0", 422, "invalid_request"),
    ],
)
def test_what_the_framework_refuses_is_a_problem(
    address: Address, method: str, path: str, status: int, code: str
) -> None:
    got_status, got, problem = ask(address, method, path, {})
    assert (got_status, problem["code"]) == (status, code)
    assert got["content-type"] == "application/problem+json"
    assert status != 405 or got["allow"]


def test_a_declared_body_that_is_too_large_is_refused_before_it_is_read(address: Address) -> None:
    size = MAX_BODY_MB * 2**20 + 1
    with address.connect() as connection:
        head = "POST /v1/sample HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length"
        connection.sendall(f"{head}: {size}\r\n\r\n".encode())
        status, problem = reply_on(connection)
    assert (status, problem["code"]) == (413, "body_too_large")


def test_a_chunked_body_that_is_too_large_is_refused_while_it_is_read(address: Address) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with address.connect() as connection:
        connection.sendall(
            b"POST /v1/sample HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(MAX_BODY_MB * 16 + 1):
            connection.sendall(chunk)
        status, problem = reply_on(connection)
    assert (status, problem["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("most", [MAX_BODY_MB, MAX_UPLOAD_MB])
def test_a_form_has_a_limit_of_its_own(address: Address, most: int) -> None:
    body = (
        b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
        + b"x" * (most * 2**20)
        + b"\r\n--b--\r\n"
    )
    status, _, reply = ask(address, "POST", "/v1/upload", body, {"Content-Type": "multipart/form-data; boundary=b"})
    if most == MAX_BODY_MB:
        assert status == 200
    else:
        assert (status, reply["code"]) == (413, "body_too_large")


def test_a_body_of_exactly_the_limit_is_accepted(address: Address) -> None:
    frame = len(b'{"text":""}')
    body = b'{"text":"' + b"x" * (MAX_BODY_MB * 2**20 - frame) + b'"}'
    assert len(body) == MAX_BODY_MB * 2**20
    assert ask(address, "POST", "/v1/sample", body)[0] == 200


def test_a_small_form_is_accepted(address: Address) -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nhello\r\n--b--\r\n'
    status, _, got = ask(address, "POST", "/v1/upload", body, {"Content-Type": "multipart/form-data; boundary=b"})
    assert (status, got) == (200, {"a.txt": 5})


def test_more_requests_than_allowed_are_turned_away_and_supervisors_are_not(serve: Serve) -> None:
    watch = Watch()
    address = serve(sample_app(watch=watch, steelyard_max_concurrency=1))
    with address.connect() as connection:
        connection.sendall(
            b"POST /v1/waits HTTP/1.1\r\nHost: [::1]\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        )
        assert watch.started.wait(20)
        status, got, problem = ask(address, "POST", "/v1/sample", {})
        assert (status, problem["code"], got["retry-after"]) == (503, "overloaded", "1")
        for path in ("/live", "/ready", "/v1/health_check", "/metrics"):
            assert ask(address, "GET", path)[0] == 200
    assert watch.cancelled.wait(20)
    assert ask(address, "POST", "/v1/sample", {})[0] == 200


def test_refusals_are_counted_in_one_line_and_not_logged_one_by_one(serve: Serve) -> None:
    watch = Watch()
    address = serve(sample_app(watch=watch, steelyard_max_concurrency=1))
    with address.connect() as connection, structlog.testing.capture_logs() as logged:
        connection.sendall(
            b"POST /v1/waits HTTP/1.1\r\nHost: [::1]\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        )
        assert watch.started.wait(20)
        assert {ask(address, "POST", "/v1/sample", {})[0] for _ in range(3)} == {503}
        refusals = [one for one in logged if one["event"] in ("overloaded", "request_failed")]
    assert [one["event"] for one in refusals][:1] == ["overloaded"]
    assert "request_failed" not in {one["event"] for one in refusals}
    assert refusals[0]["requests"] == 1


TOKEN = "correct-horse-battery"


@pytest.fixture
def token_file(tmp_path: Path) -> str:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return str(path)


@pytest.mark.parametrize(
    "shown",
    ["", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \xff\xfe"],
)
def test_a_wrong_token_is_refused(serve: Serve, token_file: str, shown: str) -> None:
    address = serve(sample_app(steelyard_service_token_file=token_file))
    for path in ("/v1/sample", "/info"):
        status, got, problem = ask(address, "POST", path, {}, {"Authorization": shown})
        assert (status, problem["code"], got["www-authenticate"]) == (401, "unauthenticated", "Bearer")
        assert TOKEN not in json.dumps(problem)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_right_token_is_accepted(serve: Serve, token_file: str, scheme: str) -> None:
    address = serve(sample_app(steelyard_service_token_file=token_file))
    assert ask(address, "POST", "/v1/sample", {}, {"Authorization": f"{scheme} {TOKEN}"})[0] == 200


@pytest.mark.parametrize("path", ["/live", "/ready", "/v1/health_check", "/metrics"])
def test_supervisors_need_no_token(serve: Serve, token_file: str, path: str) -> None:
    assert ask(serve(sample_app(steelyard_service_token_file=token_file)), "GET", path)[0] == 200


@pytest.mark.parametrize(
    "content", ["", "\n", "changeme", "changeme-changeme", "short", "x" * 40, "has a space in it.."]
)
def test_a_placeholder_token_does_not_boot(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"STEELYARD_SERVICE_TOKEN_FILE=.*token") as refusal:
        sample_app(steelyard_service_token_file=str(path))
    assert not content.strip() or content.strip() not in str(refusal.value).replace(str(path), "")


def test_a_missing_token_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"STEELYARD_SERVICE_TOKEN_FILE=.*FileNotFoundError"):
        sample_app(steelyard_service_token_file=str(tmp_path / "none"))


def test_a_router_that_reads_leniently_is_refused() -> None:
    router = APIRouter()

    @router.get("/v1/lenient")
    async def lenient() -> None:
        return None

    service = Service(stage=Stage.STORE, title="t", description="d", policy={})
    with pytest.raises(TypeError, match="/v1/lenient"):
        create_app(service, ProcessSettings(), lambda _metrics: pytest.fail("opened"), [router])


def test_metrics_know_patterns_and_never_paths(serve: Serve) -> None:
    address = serve(sample_app())
    for number in range(20):
        ask(address, "GET", f"/v1/items/{number}")
        ask(address, "GET", f"/no/such/{number}")
    text = ask(address, "GET", "/metrics")[2].decode()
    assert 'endpoint="/v1/items/{item_id}",status="200"} 20.0' in text
    assert 'endpoint="unmatched",status="404"} 20.0' in text
    assert "/no/such" not in text
    statistics = {entry["endpoint"]: entry for entry in ask(address, "GET", "/v1/statistics")[2]}
    assert statistics["/v1/items/{item_id}"]["requests"] == 20
    assert statistics["unmatched"]["errors"] == {"404": 20}
    assert statistics["unmatched"]["p50_ms"] > 0


def test_a_connection_serves_on_after_a_refused_request(address: Address) -> None:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=20)
    for body, status in ((b"{", 400), (b'{"text":"a"}', 200), (b'{"x":1}', 422), (b"{}", 200)):
        connection.request("POST", "/v1/sample", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        reply.read()
        assert reply.status == status
    connection.close()


def test_a_half_closed_client_still_gets_its_reply(address: Address) -> None:
    with address.connect() as connection:
        connection.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
