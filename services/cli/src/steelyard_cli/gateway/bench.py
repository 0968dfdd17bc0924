"""Asking a gateway many times and saying how long each part took."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from queue import SimpleQueue

from pydantic import BaseModel

from steelyard_contracts.answers import Ledger
from steelyard_contracts.chat import ChatCompletionRequest, InspectRequest
from steelyard_contracts.enums import Outcome
from steelyard_contracts.errors import ErrorCode

from ..errors import RequestRefusedError
from .chat import ask
from .client import Service

FIRST_TEXT = "first text"
TOTAL = "total"

Request = ChatCompletionRequest | InspectRequest


class Times(BaseModel):
    """Milliseconds of one part over the requests that had it; percentiles are nearest ranks."""

    n: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float

    @classmethod
    def of(cls, measured: Sequence[float]) -> "Times":
        """Of at least one measurement."""
        ordered = sorted(measured)
        p50, p90, p99 = (ordered[math.ceil(share * len(ordered)) - 1] for share in (0.5, 0.9, 0.99))
        return cls(n=len(ordered), p50_ms=p50, p90_ms=p90, p99_ms=p99, max_ms=ordered[-1])


class Benchmark(BaseModel):
    """What a benchmark found; a refused request is in `errors`, by its code, and nowhere else.

    `times` are the stages as the gateway measured them, then the first text and the whole as they were waited for here.
    """

    requests: int
    concurrency: int
    seconds: float
    requests_per_second: float
    outcomes: dict[str, int]
    abstained: int
    errors: dict[str, int]
    times: dict[str, Times]


@dataclass(frozen=True, slots=True)
class _Reply:
    """One answered request. The stages of an answer with a model stand in its ledger, those of evidence alone here."""

    outcome: Outcome
    abstained: bool
    waited_ms: Mapping[str, float]
    stages_ms: Mapping[str, float]
    ledger_id: str | None


def measure(connect: Callable[[], Service], asked: Sequence[Request], concurrency: int) -> Benchmark:
    """Send every request, at most `concurrency` at a time. Raises UnreachableError and BrokenReplyError."""
    with _connections(connect, concurrency) as free:
        began = time.perf_counter()
        with ThreadPoolExecutor(concurrency) as threads:
            try:
                ended = list(threads.map(lambda request: _one(free, request), asked))
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                raise
        seconds = time.perf_counter() - began
        replies = [one for one in ended if isinstance(one, _Reply)]
        # After all answers, so that reading what the gateway measured costs none of them time.
        stages = [*(reply.stages_ms for reply in replies), *_kept_stages(free.get(), replies)]
    return Benchmark(
        requests=len(asked),
        concurrency=concurrency,
        seconds=seconds,
        requests_per_second=len(replies) / seconds,
        outcomes=Counter(str(reply.outcome) for reply in replies),
        abstained=sum(reply.abstained for reply in replies),
        errors=Counter(one for one in ended if isinstance(one, str)),
        times=_times(stages) | _times(reply.waited_ms for reply in replies),
    )


@contextmanager
def _connections(connect: Callable[[], Service], count: int) -> Iterator["SimpleQueue[Service]"]:
    """One connection for each thread, because a session is not made to be shared."""
    free: SimpleQueue[Service] = SimpleQueue()
    with ExitStack() as opened:
        for _ in range(count):
            free.put(opened.enter_context(connect()))
        yield free


def _one(free: "SimpleQueue[Service]", request: Request) -> _Reply | str:
    """The reply, or the code of the refusal."""
    gateway = free.get()
    try:
        return _chat(gateway, request) if isinstance(request, ChatCompletionRequest) else _inspect(gateway, request)
    except RequestRefusedError as refusal:
        return refusal.problem_code
    finally:
        free.put(gateway)


def _chat(gateway: Service, request: ChatCompletionRequest) -> _Reply:
    began = time.perf_counter()
    waited: dict[str, float] = {}

    def hear(_text: str) -> None:
        waited.setdefault(FIRST_TEXT, _ms_since(began))

    answered = ask(gateway, request, hear).answered
    waited[TOTAL] = _ms_since(began)
    return _Reply(answered.outcome, answered.abstained is not None, waited, {}, answered.ledger_id)


def _inspect(gateway: Service, request: InspectRequest) -> _Reply:
    began = time.perf_counter()
    ledger = gateway.post("/v1/inspect", request, Ledger)
    return _Reply(ledger.outcome, ledger.abstained is not None, {TOTAL: _ms_since(began)}, _stages(ledger), None)


def _kept_stages(gateway: Service, replies: Iterable[_Reply]) -> Iterator[Mapping[str, float]]:
    for ledger_id in (reply.ledger_id for reply in replies if reply.ledger_id is not None):
        try:
            yield _stages(gateway.get(f"/v1/ledgers/{ledger_id}", Ledger))
        except RequestRefusedError as refusal:
            # Not kept any more, or the key has asked enough: the stages of fewer requests are known, which `n` says.
            if refusal.problem_code not in (ErrorCode.NOT_FOUND, ErrorCode.RATE_LIMITED):
                raise


def _stages(ledger: Ledger) -> dict[str, float]:
    return {stage: milliseconds for stage, milliseconds in ledger.timings_ms.items() if stage != TOTAL}


def _times(measured: Iterable[Mapping[str, float]]) -> dict[str, Times]:
    parts: dict[str, list[float]] = {}
    for one in measured:
        for part, milliseconds in one.items():
            parts.setdefault(part, []).append(milliseconds)
    return {part: Times.of(found) for part, found in parts.items()}


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
