"""A body that stops coming, or hardly comes: it may not hold a place of the service until the request's deadline."""

import json
import select
import socket
from collections.abc import Callable

import pytest
from fastapi import FastAPI

from steelyard_runtime import exchange

from .conftest import Address
from .sample_service import sample_app

Serve = Callable[[FastAPI], Address]

UPLOAD = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\ntext\r\n--b--\r\n'
KINDS = {
    "/v1/sample": ("application/json", b'{"text": "a"}'),
    "/v1/upload": ("multipart/form-data; boundary=b", UPLOAD),
}


def begin(connection: socket.socket, path: str, length: int) -> None:
    kind = KINDS[path][0]
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    connection.sendall(head.encode())


def rest(connection: socket.socket) -> tuple[int, dict[str, str]]:
    """Status and problem of the reply, after which the server has closed the connection."""
    received = b""
    while more := connection.recv(65536):
        received += more
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@pytest.mark.parametrize("path", KINDS)
def test_a_body_that_stops_coming_is_refused_and_its_place_is_free(
    serve: Serve, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_PATIENCE_S", 0.05)
    address = serve(sample_app(steelyard_max_concurrency=1))
    for _ in range(3):
        with address.connect() as connection:
            begin(connection, path, 1000)
            connection.sendall(KINDS[path][1][:5])
            status, problem = rest(connection)
            assert (status, problem["code"], problem["detail"]) == (408, "request_too_slow", "the body came too slowly")


def test_a_body_that_drips_is_refused_too(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_PATIENCE_S", 0.05)
    address = serve(sample_app())
    with address.connect() as connection:
        begin(connection, "/v1/sample", 100_000)
        # Seldom, since a byte that crosses the closing of the connection makes the reply be lost on its way.
        while not select.select([connection], [], [], 0.02)[0]:
            connection.sendall(b" ")
        assert rest(connection)[0] == 408


@pytest.mark.parametrize("path", KINDS)
def test_one_that_comes_in_parts_is_read(serve: Serve, path: str) -> None:
    address = serve(sample_app())
    body = KINDS[path][1]
    with address.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begin(connection, path, len(body))
        for position in range(len(body)):
            connection.sendall(body[position : position + 1])
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_each_part_earns_the_next_more_time(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(exchange, "_LEAST_BYTES_S", 1)
    address = serve(sample_app())
    body = KINDS["/v1/sample"][1]
    with address.connect() as connection:
        head = "POST /v1/sample HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
        connection.sendall(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:8])
        assert not select.select([connection], [], [], 0.1)[0]
        connection.sendall(body[8:])
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
