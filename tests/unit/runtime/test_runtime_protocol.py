"""Limits on the head of a request, which no ASGI layer could set."""

from collections.abc import Callable

import pytest
from fastapi import FastAPI

from steelyard_runtime import protocol

from .conftest import Address
from .sample_service import sample_app

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
        "one header": [b"GET /live HTTP/1.1\r\nHost: a\r\nX-Long: ", *[b"a" * 8192] * 32],
        "many headers": [b"GET /live HTTP/1.1\r\nHost: a\r\n", *[b"X-A: " + b"b" * 1000 + b"\r\n"] * 256],
        "target": [b"GET /", *[b"a" * 8192] * 32],
    }[head]
    reply = _reply_to(serve(sample_app()), filler)
    assert reply == b"closed" or reply.startswith(b"HTTP/1.1 400")


def test_a_head_within_the_limit_is_served_however_it_is_cut(serve: Serve) -> None:
    address = serve(sample_app())
    request = b"GET /live HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Long: " + b"a" * 30_000 + b"\r\n\r\n"
    for size in (1_000, 7_001, 100_000):
        parts = [request[start : start + size] for start in range(0, len(request), size)]
        assert _reply_to(address, parts).startswith(b"HTTP/1.1 200")


def test_a_large_body_does_not_count_as_head(serve: Serve) -> None:
    body = b'{"text":"' + b"x" * 500_000 + b'"}'
    head = (
        "POST /v1/sample HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    assert _reply_to(serve(sample_app()), [head.encode() + body]).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("sent", [[], [b"GET /live HT"], [b"GET /live HTTP/1.1\r\nHost: a\r\n"]])
def test_a_head_that_never_ends_closes_the_connection(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, sent: list[bytes]
) -> None:
    monkeypatch.setattr(protocol, "_SLOWEST_HEAD_S", 0.05)
    assert _reply_to(serve(sample_app()), sent) in (b"", b"closed")


def test_every_head_of_a_connection_has_its_own_limit(serve: Serve) -> None:
    request = b"GET /live HTTP/1.1\r\nHost: a\r\nX-Long: " + b"a" * 40_000 + b"\r\n\r\n"
    last = request.replace(b"Host: a", b"Host: a\r\nConnection: close")
    reply = _reply_to(serve(sample_app()), [request, request, request, last])
    assert reply.count(b"HTTP/1.1 200") == 4
