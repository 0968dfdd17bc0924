"""The fault matrix: every fault on every edge around the gateway, side by side with healthy requests.

    python -m tests.faults.matrix --seeds 5                  # the whole of it; `make faults`
    python -m tests.faults.matrix --seeds 12 --deadlines     # only what ends by its deadline: how late it ends

Prints n and every violation; the exit status is the number of violations, at most 1.
"""

import argparse
import asyncio
import hashlib
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import numpy as np

from steelyard_contracts.errors import ErrorCode
from tests.faults.fault_proxy import HARMLESS, TRANSPORT, Fault, FaultProxy, reply_again_later, reply_twice
from tests.faults.oracle import TOPICS, Verdict, document, echo, judge, question
from tests.faults.semantic import PLANTED, SEMANTIC
from tests.harness.llm_double import LlmDouble
from tests.harness.processes import start, wait_ready
from tests.harness.stack import ingest

EDGES = ("embedding", "retriever", "reranker", "counting", "llm")
AT_ONCE = 12
_DEADLINE_MS = 2_000
"""For requests whose reply never comes; healthy ones have all the time that they need."""
_RERANKER_DEADLINE_MS = 8_000
"""The reranker is waited for half of the time, and what is left has to be enough for an answer on a busy machine."""
_SECOND_REPLIES = frozenset(fault.__name__ for fault in (reply_twice, reply_again_later))
"""Their second reply can meet a call that is under way, which then fails honestly."""


@dataclass(frozen=True)
class Cell:
    """One request: the fault on its way, None for a healthy one, and a number that makes it different from others."""

    edge: str
    fault: str | None
    number: int
    stream: bool

    @property
    def request_id(self) -> str:
        return f"{self.edge}/{self.fault or 'healthy'}/{self.number}"

    @property
    def hurried(self) -> bool:
        """Whether the request needs a deadline to end soon."""
        return self.fault is not None and self.fault.startswith(("hang", "drip"))

    @property
    def deadline_ms(self) -> int:
        """The deadline of a hurried request."""
        return _RERANKER_DEADLINE_MS if self.edge == "reranker" else _DEADLINE_MS


@dataclass
class Report:
    """What happened in all cells.

    `collateral` are the requests that got an honest error of a neighbour which was healthy, because a connection that
    they shared with others broke under them; `overshoots_ms` are by how much each of the requests with a deadline
    missed it, below 0 for those in time.
    """

    cells: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    collateral: list[str] = field(default_factory=list)
    overshoots_ms: list[float] = field(default_factory=list)


def cells(seed: int, *, semantic: bool = True) -> list[Cell]:
    """Every fault on every edge once, and half as many healthy requests, in an order that `seed` decides."""
    chosen = random.Random(seed)
    broken = [(edge, name) for edge in EDGES for name in (*TRANSPORT, *HARMLESS)]
    # A model server's replies name no request: a second one could only be told while its connection is idle.
    broken.remove(("llm", reply_again_later.__name__))
    broken += [(edge, name) for edge in EDGES for name in SEMANTIC[edge]] if semantic else []
    made = [Cell(edge, name, seed, chosen.random() < 0.5) for edge, name in broken]
    made += [Cell("none", None, seed * 10_000 + number, chosen.random() < 0.5) for number in range(len(made) // 2)]
    chosen.shuffle(made)
    return made


def is_collateral(cell: Cell, verdict: Verdict) -> bool:
    """Whether the error is another neighbour's than the one that the cell breaks."""
    if verdict.kind != "error":
        return False
    of_another = "upstream_" in verdict.detail and not verdict.detail.endswith(" reranker")
    return cell.fault is None or (cell.edge == "reranker" and of_another)


def allowed(cell: Cell, verdict: Verdict) -> bool:
    """A fault ends in an error, or at the reranker in an answer that says it is degraded. Nothing else is honest.

    Nor is it right to wait for the deadline where the fault can be seen.
    """
    if not cell.hurried and ErrorCode.UPSTREAM_TIMEOUT in verdict.detail:
        return False
    if cell.fault in _SECOND_REPLIES and verdict.kind == "error":
        return True
    if cell.fault is None or cell.fault in HARMLESS:
        return verdict.kind == "right"
    if cell.edge == "reranker":
        return verdict.kind == "degraded" and verdict.detail.startswith("reranker ")
    return verdict.kind == "error"


@contextmanager
def gateway(folder: Path, **settings: str) -> Iterator[tuple[str, Mapping[str, FaultProxy]]]:
    """All services, with a proxy between the gateway and each of its neighbours. Gives the gateway's address."""
    llm = LlmDouble(answer=echo).start()
    common = {
        "AUTH": "off",
        "STORE_PATH": str(folder / "store.db"),
        "LEDGER_PATH": str(folder / "ledgers.db"),
        "RERANKING_STRATEGY": "slice",
        "GROUNDEDNESS_POLICY": "flag",
        **settings,
    }
    running = [start("embedding", common)]
    dataprep = start("dataprep", {**common, "EMBEDDING_URL": running[0].url})
    running += [dataprep, start("retriever", {**common, "EMBEDDING_URL": running[0].url}), start("reranker", common)]
    proxies = {
        name: FaultProxy(url, Choose(name)).start()
        for name, url in (
            ("embedding", running[0].url),
            ("retriever", running[2].url),
            ("reranker", running[3].url),
            ("llm", llm.url),
        )
    }
    running.append(start("chatqna", common | {f"{name.upper()}_URL": proxy.url for name, proxy in proxies.items()}))
    try:
        for service in running:
            wait_ready(service)
        reply = ingest(dataprep, *((f"{topic}.md", document(topic)) for topic in TOPICS))
        assert reply.status_code == 200, reply.text
        yield running[-1].url, proxies
    finally:
        for service in reversed(running):
            service.stop()
        for proxy in proxies.values():
            proxy.stop()
        llm.stop()


@dataclass(frozen=True)
class Choose:
    """Breaks the requests whose id says so: the gateway passes its caller's id on to every neighbour."""

    proxy: str

    def __call__(self, head: str) -> Fault | None:
        found = [line.split(": ", 1)[1] for line in head.split("\r\n") if line.lower().startswith("x-request-id: ")]
        edge, _, rest = (found or [""])[0].partition("/")
        fault = rest.partition("/")[0]
        if not fault or edge == "none" or self.proxy != ("llm" if edge == "counting" else edge):
            return None
        path = head.split(" ")[1]
        if self.proxy == "llm" and (edge == "llm") != (path == "/v1/chat/completions"):
            return None
        return (TRANSPORT | HARMLESS | SEMANTIC[edge] | PLANTED)[fault]


async def run(url: str, work: list[Cell]) -> Report:
    """Send every cell's request, several at once, and judge the replies."""
    report = Report()
    waiting = iter(work)

    async def worker(session: aiohttp.ClientSession) -> None:
        for cell in waiting:
            verdict, took = await _ask(session, url, cell)
            report.cells += 1
            report.verdicts[verdict.kind] += 1
            if cell.hurried:
                report.overshoots_ms.append(took * 1000 - cell.deadline_ms)
            if is_collateral(cell, verdict):
                report.collateral.append(f"{cell.request_id}: {verdict.detail}")
            elif not allowed(cell, verdict):
                report.violations.append(f"{cell.request_id} stream={cell.stream}: {verdict.kind}: {verdict.detail}")

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as session:
        await asyncio.gather(*(worker(session) for _ in range(AT_ONCE)))
    return report


async def _ask(session: aiohttp.ClientSession, url: str, cell: Cell) -> tuple[Verdict, float]:
    topic = TOPICS[int(hashlib.sha256(cell.request_id.encode()).hexdigest(), 16) % len(TOPICS)]
    asked = question(topic, cell.request_id)
    sent = {"X-Request-Id": cell.request_id}
    if cell.hurried:
        sent["X-Deadline-Ms"] = str(cell.deadline_ms)
    body = {"messages": [{"role": "user", "content": asked}], "stream": cell.stream, "top_n": 2}
    started = time.perf_counter()
    async with session.post(f"{url}/v1/chat/completions", json=body, headers=sent) as reply:
        try:
            content = await reply.read()
        except aiohttp.ClientError as error:
            return Verdict("a reply that broke off", type(error).__name__), time.perf_counter() - started
        return judge(topic, asked, reply.status, content, stream=cell.stream), time.perf_counter() - started


def main() -> int:
    """Run the whole matrix and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--deadlines", action="store_true", help="only what ends by its deadline, and healthy requests")
    options = parser.parse_args()
    work = [cell for seed in range(options.seeds) for cell in cells(seed)]
    if options.deadlines:  # healthy requests too, or circuits would open and requests end long before their deadline
        work = [cell for cell in work if cell.hurried or cell.fault is None]
    with tempfile.TemporaryDirectory() as folder, gateway(Path(folder)) as (url, _proxies):
        report = asyncio.run(run(url, work))
    print(f"n = {report.cells}: {dict(report.verdicts)}")
    p50, p999, latest = np.percentile(report.overshoots_ms, (50, 99.9, 100))
    print(f"past the deadline, n = {len(report.overshoots_ms)}: p50 {p50:.0f}, p99.9 {p999:.0f}, max {latest:.0f} ms")
    for line in (*report.collateral, *report.violations):
        print(line)
    print(f"violations: {len(report.violations)} (0 of n only bounds the rate at {3 / report.cells:.4f})")
    return min(1, len(report.violations))


if __name__ == "__main__":
    raise SystemExit(main())
