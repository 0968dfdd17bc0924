"""Limits on the head of a request, which no ASGI layer could set."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import pytest
from fastapi import FastAPI

from steelyard_runtime import protocol

from .conftest import Address
from .sample_service import Watch, sample_app

Serve = Callable[[FastAPI], Address]


def _reply_to(address: Address, parts: list[bytes]) -> bytes:
    """What comes back until the server closes; a server that closes early stops the sending."""
    with address.connect() as connection:
        try:
            for part in parts:
                connection.sendall(part)
        except ConnectionError:
            return b"closed"
        got = []
        try:
            while part := connection.recv(65536):
                got.append(part)
        except ConnectionError:
            return b"".join(got) or b"closed"
    return b"".join(got)


@pytest.mark.parametrize("head", ["one header", "many headers", "target"])
def test_a_head_that_is_too_large_closes_the_connection(serve: Serve, head: str) -> None:
    filler = {
        "one header": [b"GET /live HTTP/1.1\r\nHost: localhost\r\nX-Long: ", *[b"a" * 8192] * 32],
        "many headers": [b"GET /live HTTP/1.1\r\nHost: localhost\r\n", *[b"X-A: " + b"b" * 1000 + b"\r\n"] * 256],
        "target": [b"GET /", *[b"a" * 8192] * 32],
    }[head]
    reply = _reply_to(serve(sample_app()), filler)
    assert reply == b"closed" or reply.startswith(b"HTTP/1.1 400")


def test_a_head_within_the_limit_is_served_however_it_is_cut(serve: Serve) -> None:
    address = serve(sample_app())
    request = b"GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: " + b"a" * 30_000 + b"\r\n\r\n"
    for size in (1_000, 7_001, 100_000):
        parts = [request[start : start + size] for start in range(0, len(request), size)]
        assert _reply_to(address, parts).startswith(b"HTTP/1.1 200")


def test_a_large_body_does_not_count_as_head(serve: Serve) -> None:
    body = b'{"text":"' + b"x" * 500_000 + b'"}'
    head = (
        "POST /v1/sample HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    assert _reply_to(serve(sample_app()), [head.encode() + body]).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("sent", [[], [b"GET /live HT"], [b"GET /live HTTP/1.1\r\nHost: localhost\r\n"]])
def test_a_head_that_never_ends_closes_the_connection(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, sent: list[bytes]
) -> None:
    monkeypatch.setattr(protocol, "_SLOWEST_HEAD_S", 0.05)
    assert _reply_to(serve(sample_app()), sent) in (b"", b"closed")


def test_every_head_of_a_connection_has_its_own_limit(serve: Serve) -> None:
    request = b"GET /live HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 40_000 + b"\r\n\r\n"
    last = request.replace(b"Host: localhost", b"Host: localhost\r\nConnection: close")
    reply = _reply_to(serve(sample_app()), [request, request, request, last])
    assert reply.count(b"HTTP/1.1 200") == 4


def test_a_length_may_have_more_zeros_than_python_reads(serve: Serve) -> None:
    request = _request("/v1/sample", b"{}", "Connection: close").replace(b"Length: 2", b"Length: " + b"0" * 5000 + b"2")
    assert _reply_to(serve(sample_app()), [request]).startswith(b"HTTP/1.1 200")


_CHUNKED = (
    b"POST /v1/logs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n"
)


def test_a_trailer_is_no_header(serve: Serve, tmp_path: Path) -> None:
    """A proxy that takes Authorization out of requests looks at their heads."""
    token = tmp_path / "token"
    token.write_text("0123456789abcdef")
    address = serve(sample_app(steelyard_service_token_file=str(token)))
    shown, body = b"Authorization: Bearer 0123456789abcdef\r\n", b"\r\n2\r\n{}\r\n0\r\n"
    assert _reply_to(address, [_CHUNKED + shown + body + b"X-Request-Id: late\r\n\r\n"]).count(b'"late"') == 0
    assert _reply_to(address, [_CHUNKED + shown + body + b"\r\n"]).startswith(b"HTTP/1.1 200")
    assert _reply_to(address, [_CHUNKED + body + shown + b"\r\n"]).startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize("frame", [b"2;", b"2\r\n{}\r\n0\r\nX-Late: ", b"0\r\n" + b"X-Late: 1\r\n" * 100])
@pytest.mark.parametrize("path", [b"/v1/logs", b"/v1/nothing-here"])
def test_what_frames_a_body_is_limited_also_after_the_reply(serve: Serve, frame: bytes, path: bytes) -> None:
    head = _CHUNKED.replace(b"/v1/logs", path).replace(b"Connection: close\r\n", b"")
    more = b"X-Late: 1\r\n" * 700 if frame.startswith(b"0") else b"a" * 8192
    with serve(sample_app()).connect() as connection:
        connection.sendall(head + b"\r\n" + frame)
        with suppress(ConnectionError):
            for _ in range(4096):
                connection.sendall(more)
            pytest.fail("it was all taken")


def test_a_body_of_single_bytes_is_taken(serve: Serve) -> None:
    body = b'{"text":"' + b"x" * 100_000 + b'"}'
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    address = serve(sample_app())
    sent = [_CHUNKED + b"\r\n", *[chunks[at : at + 5000] for at in range(0, len(chunks), 5000)], b"0\r\n\r\n"]
    assert _reply_to(address, sent).startswith(b"HTTP/1.1 200")


@contextmanager
def _full(serve: Serve) -> Iterator[Address]:
    """A service that works on the one request that it may."""
    watch = Watch()
    address = serve(sample_app(watch=watch, steelyard_max_concurrency=1))
    with address.connect() as connection:
        connection.sendall(_request("/v1/waits", b"{}"))
        assert watch.started.wait(20)
        yield address
    assert watch.cancelled.wait(20)


def _request(path: str, body: bytes, *more: str) -> bytes:
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *more,
    )
    return "\r\n".join((*lines, "", "")).encode() + body


def _read_reply(file: BinaryIO) -> tuple[bytes, dict[str, str], bytes]:
    status = file.readline()
    fields = {}
    while line := file.readline().strip().decode():
        name, _, value = line.partition(": ")
        fields[name.lower()] = value
    return status, fields, file.read(int(fields["content-length"]))


def test_a_refusal_has_every_header_of_a_reply_and_the_shape_of_its_route(serve: Serve) -> None:
    with _full(serve) as address, address.connect() as connection, connection.makefile("rb") as file:
        for path, kind in (("/v1/sample", "application/problem+json"), ("/v1/domain", "application/json")):
            connection.sendall(_request(path, b"{}", "X-Request-Id: mine"))
            status, fields, body = _read_reply(file)
            assert status == b"HTTP/1.1 503 Service Unavailable\r\n"
            assert (fields["content-type"], fields["retry-after"], fields["x-request-id"]) == (kind, "1", "mine")
            assert len(fields["x-policy-hash"]) == 16
            assert "server-timing" in fields
            problem = json.loads(body)
            assert problem.get("error", problem)["code"] == "overloaded"
            assert problem.get("error", problem)["request_id"] == "mine"


def test_a_connection_serves_again_after_a_refusal_whatever_its_body_was(serve: Serve) -> None:
    with serve_after_refusals(serve) as (connection, file):
        connection.sendall(_request("/v1/sample", b"{}"))
        assert _read_reply(file)[0] == b"HTTP/1.1 200 OK\r\n"


@contextmanager
def serve_after_refusals(serve: Serve) -> Iterator[tuple[socket.socket, BinaryIO]]:
    with _full(serve) as address:
        connection = address.connect()
        file = connection.makefile("rb")
        large = _request("/v1/sample", b"x" * 3_000_000)
        for whole in (_request("/v1/sample", b"{}"), large, _request("/v1/sample", b"") * 2):
            connection.sendall(whole)
            for _ in range(2 if whole.count(b"POST") == 2 else 1):
                assert _read_reply(file)[0].startswith(b"HTTP/1.1 503")
        connection.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert _read_reply(file)[0] == b"HTTP/1.1 200 OK\r\n"
    with connection, file:
        yield connection, file


def test_a_client_that_wants_no_more_is_closed_after_its_refusal(serve: Serve) -> None:
    with _full(serve) as address:
        reply = _reply_to(address, [_request("/v1/sample", b"{}", "Connection: close")])
        assert reply.startswith(b"HTTP/1.1 503")
        assert b"\r\nConnection: close\r\n" in reply
