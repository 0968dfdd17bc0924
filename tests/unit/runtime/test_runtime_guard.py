"""Without a key or token a service answers this machine only, and no other site's web page."""

import asyncio
import http.client
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from fastapi import FastAPI

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_runtime.guard import Caller, LoopbackGuard
from steelyard_runtime.upstream.http import Upstream

from .conftest import Address
from .sample_service import sample_app


@pytest.mark.parametrize(
    ("host", "let_in"),
    [
        ("127.0.0.1:8888", True),
        ("localhost", True),
        ("LOCALHOST:1", True),
        ("[::1]:8888", True),
        ("elsewhere.example", False),
        ("127.0.0.1.elsewhere.example", False),
        ("localhost@elsewhere.example", False),
        ("[::1", False),
        ("", False),
    ],
)
def test_without_a_token_only_the_loopbacks_own_names_are_answered(host: str, let_in: bool) -> None:
    async def main() -> Caller | ErrorCode:
        try:
            return await LoopbackGuard().admit("/v1/sample", {"host": host})
        except SteelyardError as error:
            return error.code

    assert asyncio.run(main()) == (Caller() if let_in else ErrorCode.HOST_FORBIDDEN)


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "http://127.0.0.1\uff0f.elsewhere.example", "null", ""])
def test_without_a_token_an_origin_that_is_none_is_refused(origin: str) -> None:
    with pytest.raises(SteelyardError) as refused:
        asyncio.run(LoopbackGuard().admit("/v1/sample", {"host": "127.0.0.1:8888", "origin": origin}))
    assert refused.value.code is ErrorCode.HOST_FORBIDDEN


def _status(address: Address, path: str, **sent: str) -> int:
    with closing(http.client.HTTPConnection(address.host, address.port, timeout=20)) as connection:
        connection.request("GET", path, headers=sent)
        return connection.getresponse().status


def test_a_service_without_a_token_answers_no_page(serve: Callable[[FastAPI], Address]) -> None:
    """Else a page could read every document, and send some, past the gateway and its keys."""
    address = serve(sample_app())
    assert _status(address, "/v1/items/1") == 200
    assert _status(address, "/v1/items/1", Host="rebound.example") == 403
    assert _status(address, "/v1/items/1", Origin="https://elsewhere.example") == 403
    assert [_status(address, path, Host="prometheus.example") for path in ("/live", "/ready", "/metrics")] == [200] * 3


def test_the_token_opens_a_service_under_every_name(serve: Callable[[FastAPI], Address], tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef")
    address = serve(sample_app(steelyard_service_token_file=str(token)))
    shown = {"Authorization": "Bearer 0123456789abcdef"}
    assert _status(address, "/v1/items/1", Host="retriever", **shown) == 200
    assert _status(address, "/v1/items/1", Host="retriever") == 401


@pytest.mark.parametrize(("known", "ready"), [("0123456789abcdef", True), ("another-token-here", False), (None, False)])
def test_a_service_is_not_ready_for_whose_calls_it_would_refuse(
    serve: Callable[[FastAPI], Address], tmp_path: Path, known: str | None, ready: bool
) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef")
    address = serve(sample_app(steelyard_service_token_file=str(token)))

    async def look() -> None:
        async with Upstream(Stage.RETRIEVER, address.url, token=known) as retriever:
            await retriever.check_ready(20.0)

    if ready:
        asyncio.run(look())
    else:
        with pytest.raises(UpstreamError, match=r"status 401 \(unauthenticated\)"):
            asyncio.run(look())
    assert _status(address, "/ready") == 200


def test_a_service_without_a_token_is_ready_for_all(serve: Callable[[FastAPI], Address]) -> None:
    async def look(known: str | None) -> None:
        async with Upstream(Stage.RETRIEVER, address.url, token=known) as retriever:
            await retriever.check_ready(20.0)

    address = serve(sample_app())
    asyncio.run(look(None))
    asyncio.run(look("0123456789abcdef"))
