"""The backends behind the service's own endpoints: readiness, `/info`, errors, and requests that come together."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import ClientSession

from steelyard_embedding.app import build
from steelyard_embedding.settings import EmbeddingSettings
from tests.harness.asgi_server import serving
from tests.harness.embed_doubles.vectors import DIMENSION, vector
from tests.harness.model_server_double import ModelServerDouble, status

from .labs import LIMIT, WIRE, double_of, remote_settings


def service(
    kind: str,
    folder: Path,
    use: Callable[[ClientSession, Any], Awaitable[None]],
    *,
    double: ModelServerDouble | None = None,
    **settings: Any,
) -> None:
    """Run the real service against a double, over real HTTP."""

    async def run() -> None:
        async with double or double_of(kind) as made:
            app = build(EmbeddingSettings(**{**remote_settings(kind, made.url, folder), **settings}))
            made.look_now = lambda: app.state.health.look()
            async with serving(app) as url, aiohttp.ClientSession(url) as session:
                await use(session, made)

    asyncio.run(run())


async def post(session: ClientSession, texts: Any, **headers: str) -> tuple[int, dict[str, Any]]:
    async with session.post("/v1/embeddings", json={"input": texts}, headers=headers) as reply:
        return reply.status, await reply.json()


async def get(session: ClientSession, path: str) -> tuple[int, dict[str, Any]]:
    async with session.get(path) as reply:
        return reply.status, await reply.json()


@pytest.mark.parametrize("kind", WIRE)
def test_a_reply_has_the_servers_vectors_and_says_which_model_made_them(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        code, reply = await post(session, ["cat", "the sea"])
        assert code == 200
        assert [row["embedding"] for row in reply["data"]] == [vector("cat").tolist(), vector("the sea").tolist()]
        assert reply["usage"]["prompt_tokens"] == 3 + 4
        revision = double.info["model_sha"] if kind == "tei" else "unknown"
        assert reply["model_revision"] == revision
        _, info = await get(session, "/info")
        assert info["limits"] == {"max_tokens": LIMIT, "max_texts": 256}
        model = info["models"]["embedding"]
        assert (model["id"], model["revision"]) == (reply["model"], revision)
        assert (model["dimension"], model["backend"], len(model["tokenizer"])) == (DIMENSION, kind, 64)

    service(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_server_that_is_not_there_kills_nobody_and_info_claims_nothing(kind: str, tmp_path: Path) -> None:
    async def dead() -> str:
        async with double_of(kind) as double:
            return double.url

    async def use(session: ClientSession, double: Any) -> None:
        assert (await get(session, "/live"))[0] == 200
        code, ready = await get(session, "/ready")
        assert code == 503
        assert "can not be reached" in ready["dependencies"][0]["cause"]
        code, reply = await post(session, "cat")
        assert (code, reply["code"], reply["stage"]) == (502, "upstream_unreachable", "embedding")
        _, info = await get(session, "/info")
        assert info["models"]["embedding"]["dimension"] is None
        assert info["limits"]["max_tokens"] is None

    service(kind, tmp_path, use, embedding_server_url=asyncio.run(dead()))


@pytest.mark.parametrize("kind", WIRE)
def test_readiness_follows_the_model(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        assert (await get(session, "/ready"))[0] == 200
        await double.__aexit__()
        await double.look_now()
        assert (await get(session, "/ready"))[0] == 503
        await double.restart()
        double.weights = "2"
        await double.look_now()
        code, ready = await get(session, "/ready")
        assert code == 503
        assert "cosine" in ready["dependencies"][0]["cause"]
        code, reply = await post(session, "cat")
        assert (code, reply["code"]) == (503, "model_unavailable")
        double.weights = "1"
        await double.look_now()
        assert (await get(session, "/ready"))[0] == 200
        assert (await post(session, "cat"))[0] == 200

    service(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_what_the_model_can_not_read_whole_is_refused_before_it_is_sent(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        double.calls.clear()
        code, reply = await post(session, ["cat", "cat " * (LIMIT - 1)])
        assert (code, reply["code"]) == (422, "text_too_long")
        assert [fault["field"] for fault in reply["errors"]] == ["input.1"]
        assert double.calls == []

    service(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize(("given", "told"), [(429, 503), (500, 502), (424, 502), (413, 502), (401, 503)])
def test_a_failure_reaches_the_caller_under_its_code(kind: str, given: int, told: int, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        double.fault = status(given, Retry_After="9")
        async with session.post("/v1/embeddings", json={"input": "cat"}) as reply:
            assert reply.status == told
            assert reply.headers.get("Retry-After") == ("9" if given == 429 else reply.headers.get("Retry-After"))

    service(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_deadline_ends_the_wait_for_a_server(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        double.fault = double.hang()
        code, reply = await post(session, "cat", **{"X-Deadline-Ms": "600"})
        assert (code, reply["code"]) in ((504, "deadline_exceeded"), (504, "upstream_timeout"))
        double.fault = None
        assert (await post(session, "cat"))[0] == 200

    service(kind, tmp_path, use)


def test_dimensions_are_the_models_own_even_before_a_vector_was_asked_for(tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        for dimensions, expected in ((DIMENSION, 200), (DIMENSION - 1, 422)):
            body = {"input": "cat", "dimensions": dimensions}
            async with session.post("/v1/embeddings", json=body) as reply:
                assert reply.status == expected

    service("openai", tmp_path, use)
