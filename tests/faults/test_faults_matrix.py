"""The gateway between neighbours that break in every way: wrong or mixed answers, and failures that look like answers.

The whole matrix, with the semantic faults and several seeds, is `make faults`.
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from steelyard_runtime.upstream.breaker import FAILURES
from tests.faults.fault_proxy import Broken, Exchange, FaultProxy, reset_at_once
from tests.faults.matrix import EDGES, TRANSPORT, Cell, cells, gateway, run
from tests.faults.oracle import question

CONCURRENCY = 16


class Gateway:
    """A running gateway behind its proxies."""

    def __init__(self, url: str, proxies: Mapping[str, FaultProxy]) -> None:
        self.url = url
        self.proxies = proxies

    def ask(self, path: str = "/v1/chat/completions", **headers: str) -> requests.Response:
        messages: Any = [{"role": "user", "content": question("seal", "one")}]
        return requests.post(self.url + path, json={"messages": messages}, headers=headers, timeout=120)

    def calls(self, proxy: str) -> list[str]:
        return [head for head in self.proxies[proxy].heads if head.startswith("POST")]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder: Path = tmp_path_factory.mktemp("matrix")
    with gateway(folder, STEELYARD_MAX_CONCURRENCY=str(CONCURRENCY)) as (url, proxies):
        yield Gateway(url, proxies)


@pytest.fixture(autouse=True)
def _healthy(served: Gateway) -> Iterator[None]:
    chosen = {name: proxy.choose for name, proxy in served.proxies.items()}
    for proxy in served.proxies.values():
        proxy.heads.clear()
    yield
    for name, proxy in served.proxies.items():
        proxy.choose = chosen[name]
    for _ in range(600):
        if served.ask().status_code == 200:
            break  # which has closed every circuit too
        threading.Event().wait(0.05)


def test_no_fault_makes_a_wrong_answer_or_looks_like_an_answer(served: Gateway) -> None:
    report = asyncio.run(run(served.url, cells(0, semantic=False)))
    assert report.violations == []
    assert report.verdicts["error"] >= len(TRANSPORT) * (len(EDGES) - 1)
    broke_under = sum(one.startswith("reranker/") for one in report.collateral)
    assert report.verdicts["degraded"] == len(TRANSPORT) - broke_under


def test_the_oracle_sees_what_the_gateway_can_not(served: Gateway) -> None:
    planted = [
        Cell("llm", "faithful", 1, stream=False),
        Cell("retriever", "exchanged_texts", 2, stream=False),
        Cell("llm", "anothers_answer", 3, stream=True),
        Cell("llm", "a_word_less", 4, stream=False),
    ]
    report = asyncio.run(run(served.url, planted))
    assert len(report.violations) == len(planted), report.violations


def test_the_deadline_shrinks_at_every_hop(served: Gateway) -> None:
    assert served.ask(**{"X-Deadline-Ms": "30000"}).status_code == 200
    given = [30_000]
    for name in ("embedding", "retriever", "reranker", "llm"):
        [deadline] = {
            int(line.partition(": ")[2])
            for line in served.calls(name)[-1].split("\r\n")
            if line.lower().startswith("x-deadline-ms: ")
        }
        given.append(deadline * 2 if name == "reranker" else deadline)  # which may take half of what is left
    assert given == sorted(given, reverse=True)
    assert len(set(given)) == len(given)
    assert given[-1] > 0


def test_expired_work_is_not_started(served: Gateway) -> None:
    refused = served.ask(**{"X-Deadline-Ms": "0"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (504, "deadline_exceeded")
    assert [served.calls(name) for name in served.proxies] == [[], [], [], []]


def test_total_failure_costs_few_calls_and_is_seen_in_readiness_and_metrics(
    served: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    served.proxies["retriever"].choose = lambda head: reset_at_once if head.startswith("POST") else None
    replies = [served.ask() for _ in range(250)]
    assert {reply.status_code for reply in replies} == {502}
    assert {reply.json()["error"]["stage"] for reply in replies} == {"retriever"}
    assert int(replies[-1].headers["Retry-After"]) >= 1
    calls = len(served.calls("retriever"))
    with capsys.disabled():
        print(f"\ntotal failure: {calls} calls for {len(replies)} requests")
    assert FAILURES <= calls <= 1.2 * len(replies)
    metrics = requests.get(f"{served.url}/metrics", timeout=10).text
    assert 'steelyard_upstream_circuit_open{upstream="retriever"} 1.0' in metrics
    # A neighbour that says it is ready and never replies is not ready for its callers.
    causes: set[str] = set()
    while not any("not asked" in cause for cause in causes):
        ready = requests.get(f"{served.url}/ready", timeout=10).json()
        causes |= {one["cause"] or "" for one in ready["dependencies"] if one["name"] == "retriever"}
        served.ask()
        threading.Event().wait(0.05)


def test_a_slow_model_leaves_room_for_what_needs_none(served: Gateway) -> None:
    places = CONCURRENCY * 3 // 4
    released = threading.Event()

    async def hold(_one: Exchange) -> None:
        while not released.is_set():  # noqa: ASYNC110  set in the test's own thread
            await asyncio.sleep(0.02)
        raise Broken

    served.proxies["llm"].choose = lambda head: hold if "/v1/chat/" in head else None
    with ThreadPoolExecutor(places) as pool:
        waiting = [pool.submit(served.ask) for _ in range(places)]
        try:
            while len([one for one in served.calls("llm") if "/v1/chat/" in one]) < places:
                assert not any(one.done() for one in waiting)
                threading.Event().wait(0.02)
            refused = served.ask()
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
            assert refused.headers["Retry-After"] == "1"
            assert served.ask("/v1/inspect").status_code == 200
        finally:
            released.set()
        assert {one.result().status_code for one in waiting} == {502}
