"""How a model's stream is cut into reads changes nothing of what a client is sent, through the whole gateway."""

import json
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from steelyard_chatqna.answer import Answerer
from steelyard_chatqna.documents import Documents
from steelyard_chatqna.gateway import Gateway
from steelyard_chatqna.kept_ledgers import KeptLedgers
from steelyard_chatqna.ledger_store import LedgerStore
from steelyard_chatqna.llm.client import LlmClient
from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_contracts.chat import ChatCompletionRequest
from steelyard_contracts.errors import UpstreamError
from steelyard_runtime.blocking import Workers

from .fakes import QUESTION, FakeParts, WordCounter, retrieved, run
from .judging_here import judging_here

TEXTS = [
    "Grüße ",
    "aus Köln. ",
    "保守点検は",
    "毎月行う。",
    "دليل الصيانة ",
    "👨\u200d👩\u200d👧 ",
    "e\u0301 é ",
    "\u2028",
]
TEXT = "".join(TEXTS)
RANDOM_CUTS = 1_000
"""Through the whole gateway; the parser by itself is tried with 10,000 each time."""


def _event(value: Any, *, end: str = "\n", lines: int = 1) -> bytes:
    """An event with its JSON written over several `data` lines."""
    text = json.dumps(value, ensure_ascii=False, indent=1 if lines > 1 else None)
    return "".join(f"data: {line}{end}" for line in text.split("\n")).encode() + end.encode()


def _token(text: str, **form: Any) -> bytes:
    return _event({"choices": [{"index": 0, "delta": {"content": text}}]}, **form)


USAGE = {"prompt_tokens": 0, "completion_tokens": 8, "total_tokens": 8}
STREAM = b"".join(
    [
        b"\xef\xbb\xbf: hello\r\n\r\n",
        _token(TEXTS[0], end="\r\n"),
        _token(TEXTS[1], lines=2),
        b": ping\n\n",
        _token(TEXTS[2], end="\r\n", lines=2),
        _token(TEXTS[3], end="\r"),
        b"event: message\nid: 7\n" + _token(TEXTS[4]),
        _token(TEXTS[5], end="\r\n") + b":\r\n" + _token(TEXTS[6]) + _token(TEXTS[7]),
        _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, end="\r\n"),
        _event({"choices": [], "usage": USAGE}),
        b"data: [DONE]\r\n\r\n",
    ]
)


class Reply:
    """An open reply that gives one part at each read."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        self._parts = iter([part for part in parts if part])
        self.content = self

    async def readany(self) -> bytes:
        return next(self._parts, b"")


class Server:
    """What the client of the model sees of its upstream: replies in the parts that are set."""

    parts: Sequence[bytes] = ()

    @asynccontextmanager
    async def stream(self, _path: str, _payload: Any) -> AsyncIterator[Reply]:
        yield Reply(self.parts)


def sent_to_the_client(folder: Path, cuts: Iterator[Sequence[bytes]], check: Callable[[list[bytes]], None]) -> int:
    """Let a gateway without evidence answer once for each way of cutting; returns how many there were."""
    settings = ChatqnaSettings(auth="off", answer_without_evidence=True, ledger_days=0, reranking_strategy="slice")
    neighbours = FakeParts()
    neighbours.retriever.answer = lambda body: retrieved(body, {})
    server: Any = Server()
    body = ChatCompletionRequest.model_validate(
        {"messages": [{"role": "user", "content": QUESTION}], "stream": True, "stream_options": {"include_usage": True}}
    )
    count = 0

    async def work() -> None:
        nonlocal count
        keeping = Workers("ledgers", 1)
        store = LedgerStore(folder / "ledgers.db", 0, 2**20)
        try:
            answerer = Answerer(settings, LlmClient(server, "m"), WordCounter(), judging_here())
            gateway = Gateway(
                settings, neighbours.parts, answerer, KeptLedgers(store, keeping), Documents(None, ("public",))
            )
            for server.parts in cuts:
                check([item async for item in gateway.events(body)])
                count += 1
        finally:
            keeping.close()
            store.close()

    run(work, deadline_s=250)
    return count


def check(items: list[bytes]) -> None:
    """The same text, the model's own ending, and UTF-8 in every single write."""
    *events, done = [one.removeprefix("data: ") for item in items for one in item.decode().split("\n\n") if one]
    assert done == "[DONE]"
    chunks = [json.loads(one) for one in events]
    text = "".join(choice["delta"].get("content", "") for one in chunks for choice in one["choices"])
    assert text == TEXT
    reasons = [choice["finish_reason"] for one in chunks for choice in one["choices"]]
    assert [reason for reason in reasons if reason] == ["stop"]
    assert chunks[-1]["usage"] == USAGE


def in_two() -> Iterator[Sequence[bytes]]:
    for position in range(len(STREAM) + 1):
        yield STREAM[:position], STREAM[position:]


def at_random(count: int) -> Iterator[Sequence[bytes]]:
    source = random.Random(20_260_301)
    for _ in range(count):
        cuts = sorted(source.randrange(len(STREAM) + 1) for _ in range(source.randrange(1, 20)))
        yield [STREAM[start:end] for start, end in zip([0, *cuts], [*cuts, len(STREAM)], strict=True)]


def test_cut_in_two_at_every_position(tmp_path: Path) -> None:
    assert sent_to_the_client(tmp_path, in_two(), check) == len(STREAM) + 1


def test_byte_by_byte(tmp_path: Path) -> None:
    assert sent_to_the_client(tmp_path, iter([[STREAM[i : i + 1] for i in range(len(STREAM))]]), check) == 1


def test_random_cuts(tmp_path: Path) -> None:
    assert sent_to_the_client(tmp_path, at_random(RANDOM_CUTS), check) == RANDOM_CUTS


def test_what_one_read_brings_leaves_in_one_write(tmp_path: Path) -> None:
    sizes: list[int] = []
    sent_to_the_client(tmp_path, iter([[STREAM], [STREAM[:200], STREAM[200:]]]), lambda items: sizes.append(len(items)))
    # The last write has the ending, which is complete only when the answer has been judged.
    assert sizes == [2, 3]


def test_a_damaged_stream_is_refused_and_a_changed_text_is_seen_by_this_test(tmp_path: Path) -> None:
    position = STREAM.index("保".encode()) + 1
    for damaged in (STREAM[:position] + STREAM[position + 1 :], STREAM[:position] + b"\xff" + STREAM[position + 1 :]):
        with pytest.raises(UpstreamError, match="unusable"):
            sent_to_the_client(tmp_path, iter([[damaged]]), check)
    with pytest.raises(AssertionError):
        sent_to_the_client(tmp_path, iter([[STREAM.replace("毎".encode(), "日".encode())]]), check)
