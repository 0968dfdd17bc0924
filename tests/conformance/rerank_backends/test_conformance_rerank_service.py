"""The backends behind the service's own endpoints: readiness, degraded replies, bulkheads, blank texts."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import ClientSession

from steelyard_reranker.app import build
from steelyard_reranker.settings import RerankerSettings
from tests.harness.asgi_server import serving
from tests.harness.model_server_double import ModelServerDouble, status
from tests.harness.rerank_doubles import pinecone, tei
from tests.harness.rerank_doubles.scores import score
from tests.unit.models.tiny_encoder import write_tokenizer

from .labs import WIRE, double_of, remote_settings, sample


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
        made = double or double_of(kind)
        async with made:
            given = {**remote_settings(kind, made.url, folder), **settings}
            app = build(RerankerSettings(**given))
            made.look_now = lambda: app.state.health.look()
            async with serving(app) as url, aiohttp.ClientSession(url) as session:
                await use(session, made)

    asyncio.run(run())


def reranking(texts: list[str]) -> dict[str, Any]:
    docs = [{"id": f"c{i}", "text": text} for i, text in enumerate(texts)]
    return {"initial_query": "a cat", "retrieved_docs": docs, "reranking_strategy": "slice", "top_n": 2}


async def post(session: ClientSession, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    async with session.post(path, json=body) as reply:
        return reply.status, await reply.json()


async def get(session: ClientSession, path: str) -> tuple[int, dict[str, Any]]:
    async with session.get(path) as reply:
        return reply.status, await reply.json()


@pytest.mark.parametrize("kind", WIRE)
def test_candidates_are_ranked_by_the_servers_scores(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        texts = sample(40)
        code, reply = await post(session, "/v1/reranking", reranking(texts))
        best = sorted(texts, key=lambda text: -score("a cat", text))[:2]
        assert (code, reply["outcome"]) == (200, "ok")
        assert [doc["text"] for doc in reply["reranked_docs"]] == best
        assert [doc["score"] for doc in reply["reranked_docs"]] == [score("a cat", text) for text in best]
        assert len(reply["ledger"]) == 40
        code, info = await get(session, "/info")
        assert info["models"]["reranker"]["id"] == info["models"]["reranker"]["reranker"]

    service(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_blank_texts_are_not_sent_and_come_last(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        body = {"query": "a cat", "documents": ["", "dog", " \n\t ", "sea", "\u3000"]}
        code, reply = await post(session, "/v1/rerank", body)
        assert code == 200
        sent = double.calls[0].get("texts") or double.calls[0]["documents"]
        assert [one if isinstance(one, str) else one["text"] for one in sent] == ["dog", "sea"]
        assert [row["index"] for row in reply["results"]][2:] == [0, 2, 4]

    service(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_no_readable_text_asks_nobody(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        for texts in ([], ["", "  "]):
            code, reply = await post(session, "/v1/reranking", reranking(texts))
            assert (code, reply["outcome"]) == (200, "empty")
        assert double.calls == []

    service(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_failing_server_degrades_the_reply_and_is_counted(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        double.alter = lambda rows: rows[1:]
        code, reply = await post(session, "/v1/reranking", reranking(sample(3)))
        assert (code, reply["outcome"], reply["degraded"]["reason"]) == (200, "degraded", "wrong_count")
        async with session.get("/metrics") as metrics:
            assert 'steelyard_rerank_degraded_total{reason="wrong_count"} 1.0' in await metrics.text()

    service(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_server_that_is_not_there_kills_nobody(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        assert (await get(session, "/live"))[0] == 200
        code, reply = await post(session, "/v1/reranking", reranking(sample(3)))
        assert (code, reply["outcome"], reply["degraded"]["reason"]) == (200, "degraded", "unreachable")
        code, ready = await get(session, "/ready")
        assert code == 503
        assert "can not be reached" in ready["dependencies"][0]["cause"]

    async def dead() -> str:
        async with double_of(kind) as double:
            return double.url

    service(kind, tmp_path, use, rerank_url=asyncio.run(dead()))


def test_readiness_follows_the_server(tmp_path: Path) -> None:
    double = tei.TeiDouble()
    double.info["auto_truncate"] = True

    async def use(session: ClientSession, double: Any) -> None:
        code, ready = await get(session, "/ready")
        assert code == 503
        assert "--auto-truncate false" in ready["dependencies"][0]["cause"]
        code, reply = await post(session, "/v1/reranking", reranking(sample(3)))
        assert (code, reply["degraded"]["reason"]) == (200, "misdeclared")
        double.info["auto_truncate"] = False
        await double.look_now()
        assert (await get(session, "/ready"))[0] == 200
        before = (await post(session, "/v1/reranking", reranking(sample(3))))[1]["policy_hash"]
        double.info["model_sha"] = "another"
        await double.look_now()
        assert (await get(session, "/info"))[1]["models"]["reranker"]["revision"] == "another"
        assert (await post(session, "/v1/reranking", reranking(sample(3))))[1]["policy_hash"] != before

    service("tei", tmp_path, use, double=double)


@pytest.mark.parametrize("path", ["/v1/reranking", "/v1/rerank"])
def test_the_first_reply_has_the_hash_of_the_revision_that_scored(path: str, tmp_path: Path) -> None:
    body = {"query": "a cat", "documents": sample(3)} if path == "/v1/rerank" else reranking(sample(3))
    double = tei.TeiDouble()

    async def use(session: ClientSession, double: Any) -> None:
        hashes = []
        for _ in range(2):
            async with session.post(path, json=body) as reply:
                hashes += [(await reply.json())["policy_hash"], reply.headers["X-Policy-Hash"]]
        assert len(set(hashes)) == 1

    # The service starts before the server has its model, so the first request is what finds the revision out.
    ready, double.info = double.info, {}

    async def found(session: ClientSession, double: Any) -> None:
        double.info = ready
        await use(session, double)

    service("tei", tmp_path, found, double=double)


@pytest.mark.parametrize(("budget", "published"), [(None, 128), (100, 100), (400, 128)])
def test_info_publishes_the_smaller_of_the_budget_and_the_servers_limit(
    budget: int | None, published: int, tmp_path: Path
) -> None:
    write_tokenizer(tmp_path)

    async def use(session: ClientSession, double: Any) -> None:
        limits = (await get(session, "/info"))[1]["limits"]
        assert (limits["max_tokens"], limits["pair_tokens"]) == (128, published)

    service(
        "pinecone",
        tmp_path,
        use,
        double=pinecone.PineconeDouble(limit=128),
        rerank_model_dir=str(tmp_path),
        rerank_pair_budget_tokens=budget,
    )


@pytest.mark.parametrize("kind", WIRE)
def test_a_slow_server_leaves_selection_and_health_their_way(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        await post(session, "/v1/reranking", reranking(sample(1)))
        double.fault = double.hang()
        called = len(double.calls)
        waiting = [asyncio.create_task(post(session, "/v1/reranking", reranking(sample(3)))) for _ in range(6)]
        done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert all(task.result()[1]["degraded"]["reason"] == "saturated" for task in done)
        candidates = [{"id": "c", "score": 0.5, "tokens": 3}]
        code, _reply = await post(session, "/v1/select", {"strategy": "slice", "candidates": candidates})
        assert code == 200
        assert (await get(session, "/live"))[0] == 200
        assert len(double.calls) - called <= 4
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    service(kind, tmp_path, use, steelyard_max_concurrency=8)


@pytest.mark.parametrize("kind", WIRE)
def test_a_server_that_never_answers_degrades_the_reply_within_its_deadline(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        await post(session, "/v1/reranking", reranking(sample(1)))
        double.fault = double.hang()
        async with session.post("/v1/reranking", json=reranking(sample(3)), headers={"X-Deadline-Ms": "800"}) as reply:
            value = await reply.json()
        assert (reply.status, value["outcome"], value["degraded"]["reason"]) == (200, "degraded", "timeout")

    service(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_text_that_the_server_refuses_is_not_scored_and_the_others_are(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        texts = [*sample(6), "the sea " * 600]
        code, reply = await post(session, "/v1/reranking", reranking(texts))
        assert (code, reply["outcome"]) == (200, "ok")
        unscored = [entry["chunk_id"] for entry in reply["ledger"] if entry["reason"] == "not_scored"]
        assert unscored == ["c6"]

    service(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_the_failure_policy_fail_answers_with_the_error(kind: str, tmp_path: Path) -> None:
    async def use(session: ClientSession, double: Any) -> None:
        double.fault = status(500)
        code, reply = await post(session, "/v1/reranking", reranking(sample(3)))
        assert (code, reply["code"]) == (502, "rerank_failed")

    service(kind, tmp_path, use, rerank_failure_policy="fail")
