"""What every service says about itself: health with causes, info, metrics, OpenAPI; and logs without any text."""

import asyncio
import json
import logging
import os
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI

from steelyard_contracts.health import Readiness
from steelyard_runtime import logs
from steelyard_runtime.blocking import Workers
from steelyard_runtime.context import RequestContext, bind, current
from steelyard_runtime.health import Health
from steelyard_runtime.metrics import Metrics
from steelyard_runtime.policy import policy_hash
from tests.harness.local_client import local_client

from .conftest import Address
from .sample_service import sample_app

CANARY = "CANARY-7f3a"
REQUESTS = 10_000 if os.environ.get("LOG_CANARIES") == "full" else 200
"""Requests with the canary in a random place; `LOG_CANARIES=full` sends 10,000."""


def test_health_reports_causes_and_changes() -> None:
    broken = True

    async def store() -> None:
        if broken:
            raise RuntimeError("no such file: chunks.db")

    async def model() -> None:
        return None

    async def run() -> None:
        nonlocal broken
        health = Health("retriever", {"store": store, "model": model})
        assert not health.readiness().ready
        assert health.readiness().dependencies[0].cause == "not looked at yet"
        await health.look()
        assert [(one.name, one.ready, one.cause) for one in health.readiness().dependencies] == [
            ("store", False, "no such file: chunks.db"),
            ("model", True, None),
        ]
        broken = False
        await health.look()
        assert health.readiness().ready

    asyncio.run(run())


def test_a_probe_that_hangs_is_a_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard_runtime.health._PROBE_TIMEOUT_S", 0.02)

    async def hang() -> None:
        await asyncio.Event().wait()

    async def run() -> Readiness:
        health = Health("retriever", {"store": hang})
        await health.look()
        return health.readiness()

    dependency = asyncio.run(run()).dependencies[0]
    assert (dependency.ready, dependency.cause) == (False, "no answer within 0.02 s")


def test_health_goes_on_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard_runtime.health._INTERVAL_S", 0.001)
    looked = asyncio.Event()
    looks = 0

    async def probe() -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            looked.set()

    async def run() -> None:
        health = Health("retriever", {"store": probe})
        await health.start()
        async with asyncio.timeout(20):
            await looked.wait()
        await health.stop()

    asyncio.run(run())


def test_readiness_and_opea_health_check_agree() -> None:
    ready = True

    async def probe() -> None:
        if not ready:
            raise RuntimeError("away")

    app = sample_app(probes={"store": probe})
    with local_client(app) as client:
        assert client.get("/ready").status_code == 200
        health = client.get("/v1/health_check")
        assert (health.status_code, sorted(health.json())) == (
            200,
            ["Service Description", "Service Title", "Version"],
        )
        ready = False
        client.portal.call(app.state.health.look)  # type: ignore[union-attr]
        reply = client.get("/ready")
        assert reply.status_code == 503
        assert reply.json()["dependencies"] == [{"name": "store", "ready": False, "required": True, "cause": "away"}]
        assert client.get("/v1/health_check").status_code == 503
        assert client.get("/live").json() == {"status": "live"}


def test_a_service_is_ready_without_what_is_optional_and_says_what_is_missing() -> None:
    async def away() -> None:
        raise RuntimeError("away")

    async def there() -> None:
        return None

    async def run(optional: str) -> Readiness:
        health = Health("gateway", {"reranker": away, "store": there}, frozenset({optional}))
        assert not health.readiness().ready
        await health.look()
        return health.readiness()

    degraded = asyncio.run(run("reranker"))
    assert degraded.ready
    assert [(one.name, one.ready, one.required, one.cause) for one in degraded.dependencies] == [
        ("reranker", False, False, "away"),
        ("store", True, True, None),
    ]
    assert not asyncio.run(run("store")).ready


def test_info_names_policy_and_limits() -> None:
    with local_client(sample_app()) as client:
        info = client.get("/info").json()
        assert info["policy_hash"] == policy_hash({"strategy": "slice"})
        assert info["service"] == "retriever"


def test_resources_that_do_not_open_end_the_start_and_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    from contextlib import asynccontextmanager

    from steelyard_contracts.enums import Stage
    from steelyard_runtime.app import Running, Service, create_app
    from steelyard_runtime.settings.groups import ProcessSettings

    @asynccontextmanager
    async def lifespan(_metrics: Metrics) -> Any:
        raise RuntimeError("the model's file is damaged")
        yield Running(None)

    app = create_app(Service(stage=Stage.STORE, title="t", description="d", policy={}), ProcessSettings(), lifespan, [])

    def start() -> None:
        with local_client(app):
            pytest.fail("it started")

    with pytest.raises(RuntimeError, match="damaged"):
        start()
    assert "startup_failed" in capsys.readouterr().out


def test_openapi_shows_problems_and_no_framework_errors() -> None:
    document = sample_app().openapi()
    assert "HTTPValidationError" not in json.dumps(document)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            kind, name = (
                ("application/json", "OpenAIErrorReply")
                if path == "/v1/domain"
                else ("application/problem+json", "Problem")
            )
            described = operation["responses"]["default"]["content"]
            assert described == {kind: {"schema": {"$ref": f"#/components/schemas/{name}"}}}, path
    schemas = document["components"]["schemas"]
    assert {"Problem", "OpenAIErrorReply", "OpenAIError", "ErrorCode", "FieldFault"} <= set(schemas)
    assert list(document["paths"]["/metrics"]["get"]["responses"]["200"]["content"]) == ["text/plain"]


def test_policy_hash_is_of_the_content() -> None:
    assert policy_hash({"a": 1, "b": [2]}) == policy_hash({"b": [2], "a": 1})
    hashes = [policy_hash(policy) for policy in ({}, {"a": 0}, {"a": None}, {"a": 0.0}, {"a": "0"}, {"b": 0})]
    assert len(set(hashes)) == len(hashes)
    assert all(len(one) == 16 for one in hashes)
    with pytest.raises(TypeError):
        policy_hash({"a": object()})


def test_metrics_stay_bounded() -> None:
    metrics = Metrics("retriever")
    for number in range(5000):
        metrics.observe("/v1/x", 200 if number % 10 else 503, number / 1000)
    (statistics,) = metrics.statistics()
    assert (statistics.requests, statistics.errors) == (5000, {"503": 500})
    assert statistics.p50_ms is not None
    assert 3975 < statistics.p50_ms < 5000
    counter = metrics.counter("cuts_total", "Cuts.", ("reason",))
    counter.labels("test").inc()
    assert b'steelyard_cuts_total{reason="test"} 1.0' in metrics.exposition()


def test_two_services_in_one_process_have_their_own_metrics() -> None:
    first, second = Metrics("a"), Metrics("b")
    first.observe("/x", 200, 0.1)
    assert second.statistics() == []


def test_blocking_work_sees_the_request_and_leaves_the_loop_free() -> None:
    entered, release = threading.Event(), threading.Event()

    def block() -> str:
        entered.set()
        assert release.wait(20)
        return current().request_id

    async def run() -> None:
        workers = Workers("test", 1)
        bind(RequestContext("req-7", asyncio.get_running_loop().time() + 20))
        task = asyncio.create_task(workers.run(block))
        # Only a loop that is free can wait for the thread here while the thread waits for the loop.
        assert await asyncio.to_thread(entered.wait, 20)
        release.set()
        assert await task == "req-7"
        workers.close()

    asyncio.run(run())


def request_with_the_canary(rng: random.Random) -> tuple[str, str, bytes | None]:
    """A request to any endpoint with the canary anywhere: right, of a wrong type or shape, cut off, or not JSON."""
    value: Any = CANARY
    for _ in range(rng.randrange(4)):
        value = rng.choice(([value], {"text": value}, {CANARY: value}, f"{value} \n\x00\ud83d {rng.random()}"))
    body = json.dumps({rng.choice(("text", "items", "count", "by_key", CANARY)): value}).encode()
    body = rng.choice((body, body, body[: rng.randrange(len(body))], b"\xff" + body, CANARY.encode()))
    path = rng.choice(("/v1/sample", "/v1/logs", f"/v1/items/{CANARY}", f"/v1/items/1?limit={CANARY}", f"/{CANARY}"))
    return rng.choice(("POST", "POST", "GET", "PUT")), path, body


@pytest.mark.usefixtures("_restored_logging")
def test_no_text_of_a_request_is_logged_at_debug(
    capfd: pytest.CaptureFixture[str], serve: Callable[[FastAPI], Address]
) -> None:
    import http.client

    logs.configure("retriever", "debug", "policy")
    address = serve(sample_app())

    def send(method: str, path: str, body: bytes | None = None, **extra: str) -> None:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=20)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **extra})
            connection.getresponse().read()
        finally:
            connection.close()

    send("POST", "/v1/logs", json.dumps({"items": [{"text": CANARY}]}).encode())
    send("POST", "/v1/sample", json.dumps({"text": CANARY}).encode())
    send("POST", "/v1/sample", json.dumps({"txt": CANARY}).encode())
    send("POST", "/v1/sample", json.dumps({"count": CANARY}).encode())
    send("POST", "/v1/sample", json.dumps({CANARY: 1, "by_key": {CANARY: "x"}}).encode())
    send("POST", "/v1/sample", f'{{"text": "{CANARY}"'.encode())
    send("GET", f"/v1/items/{CANARY}?limit={CANARY}")
    send("GET", f"/{CANARY}")
    send("GET", "/v1/boom", None, Authorization=f"Bearer {CANARY}", Cookie=CANARY)
    for seed in range(REQUESTS):
        send(*request_with_the_canary(random.Random(seed)))
    with pytest.raises(http.client.IncompleteRead):
        send("GET", "/v1/breaks")
    logging.getLogger("asyncio").error("%s", CANARY, exc_info=RuntimeError(CANARY))
    captured = capfd.readouterr()
    lines = [json.loads(line) for line in captured.err.splitlines()]
    events = {line["event"] for line in lines}
    assert {"sample_read", "request_failed", "unexpected_error", "library_log"} <= events
    assert "CANARY" not in captured.err + captured.out
    assert all(line["service"] == "retriever" for line in lines)
    failed = [line for line in lines if line["event"] == "request_failed"]
    assert all(line["request_id"] and line["code"] for line in failed)
    unexpected = next(line for line in lines if line["event"] == "unexpected_error")
    assert unexpected["kind"] == "RuntimeError"
    assert "sample_service.py:" in unexpected["at"]


@pytest.mark.usefixtures("_restored_logging")
def test_the_canary_test_can_fail(capfd: pytest.CaptureFixture[str]) -> None:
    logs.configure("retriever", "debug", "policy")
    logs.get().debug("leak", text=CANARY)
    assert CANARY in capfd.readouterr().err
    logs.configure("retriever", "info", "policy")
    logs.get().debug("quiet")
    assert capfd.readouterr().err == ""
