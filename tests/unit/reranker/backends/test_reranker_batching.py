"""Batches, and which text of a refused batch was the reason."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_reranker.backends.batching import ISOLATION_CALLS, WITNESSES, Limits, scored
from steelyard_reranker.backends.port import RerankBackendError
from steelyard_reranker.row_fault import RowFault


class Server:
    """Scores by length, refuses the texts in `bad`, and notes what it was sent."""

    def __init__(self, bad: Sequence[str] = (), most_bytes: int = 10**9) -> None:
        self.bad = set(bad)
        self.most_bytes = most_bytes
        self.sent: list[list[str]] = []
        self.at_once = self.most_at_once = 0

    async def ask(self, texts: Sequence[str]) -> list[float]:
        self.sent.append(list(texts))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        if self.bad & set(texts) or sum(map(len, texts)) > self.most_bytes:
            raise RerankBackendError("rejected", "status 422")
        return [len(text) / 1000 for text in texts]


def run(server: Server, texts: Sequence[str], limits: Limits) -> list[float | RowFault]:
    return asyncio.run(scored(texts, server.ask, limits))


@given(st.integers(0, 300), st.integers(1, 40), st.integers(1, 2000))
@settings(max_examples=200, deadline=None)
def test_each_text_is_sent_once_within_the_limits(count: int, rows: int, size: int) -> None:
    texts = ["x" * (1 + (i * 37) % 90) for i in range(count)]
    server = Server()
    scores = run(server, texts, Limits(rows, size))
    assert [one for sent in server.sent for one in sent] == [text for text in texts if len(text) <= size]
    assert all(len(sent) <= rows and sum(map(len, sent)) <= size for sent in server.sent)
    for text, one in zip(texts, scores, strict=True):
        if len(text) > size:
            assert isinstance(one, RowFault)
            assert one.reason == "text_too_long"
        else:
            assert one == len(text) / 1000


def test_bytes_are_counted_not_characters() -> None:
    server = Server()
    run(server, ["日本"] * 4, Limits(100, 12))
    assert [len(sent) for sent in server.sent] == [2, 2]


def test_the_first_batch_goes_alone_and_a_dead_server_is_asked_once() -> None:
    server = Server(bad=["a0"])
    texts = [f"a{i}" for i in range(100)]

    async def dead(sent: Sequence[str]) -> list[float]:
        server.sent.append(list(sent))
        raise RerankBackendError("unreachable", "no")

    with pytest.raises(RerankBackendError) as error:
        asyncio.run(scored(texts, dead, Limits(10, 10**6)))
    assert error.value.reason == "unreachable"
    assert len(server.sent) == 1


def test_a_few_batches_go_at_once() -> None:
    server = Server()
    run(server, ["x"] * 200, Limits(10, 10**6))
    assert server.most_at_once == 4


def test_the_first_failure_cancels_the_other_batches() -> None:
    cancelled = 0
    started = 0

    async def ask(texts: Sequence[str]) -> list[float]:
        nonlocal cancelled, started
        started += 1
        if texts[0] == "0":
            return [0.5] * len(texts)
        if texts[0] == "2":
            await asyncio.sleep(0)
            raise RerankBackendError("bad_status", "status 500")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled += 1
            raise
        return []

    with pytest.raises(RerankBackendError) as error:
        asyncio.run(scored([str(i) for i in range(9)], ask, Limits(1, 100)))
    assert error.value.reason == "bad_status"
    assert (started, cancelled) == (5, 3)


@given(st.integers(2, 100), st.integers(1, 100), st.data())
@settings(max_examples=300, deadline=None)
def test_refused_texts_are_named_and_the_others_keep_their_scores(count: int, rows: int, data: st.DataObject) -> None:
    texts = [f"{'x' * (i * 7 % 50)}{i}" for i in range(count)]
    bad = data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=min(2, count - 1)))
    server = Server([texts[i] for i in bad])
    limits = Limits(rows, 10**6)
    scores = run(server, texts, limits) if len(bad) == 1 else _unless_too_many(server, texts, limits)
    if scores is not None:
        assert {i for i, one in enumerate(scores) if isinstance(one, RowFault)} == bad
        assert all(one == len(texts[i]) / 1000 for i, one in enumerate(scores) if i not in bad)
    assert len(server.sent) <= -(-count // rows) + ISOLATION_CALLS


def _unless_too_many(server: Server, texts: Sequence[str], limits: Limits) -> list[float | RowFault] | None:
    with suppress(RerankBackendError):
        return run(server, texts, limits)
    assert len(server.sent) >= 1 + ISOLATION_CALLS
    return None


@pytest.mark.parametrize("bad", [0, 1, 32])
def test_a_refused_text_is_named_wherever_it_stands(bad: int) -> None:
    """The shortest of its batch, and the only one of its batch."""
    texts = [f"{i}" if i == 0 else f"text {i}" for i in range(33)]
    scores = run(Server([texts[bad]]), texts, Limits(32, 10**6))
    assert [i for i, one in enumerate(scores) if isinstance(one, RowFault)] == [bad]


def test_one_of_two_texts_may_be_refused() -> None:
    scores = run(Server(["a"]), ["a", "longer"], Limits(100, 10**6))
    assert scores == [RowFault("text_refused", "status 422"), 0.006]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_when_no_text_is_read_the_request_is_refused(count: int) -> None:
    texts = [f"text {i}" for i in range(count)]
    with pytest.raises(RerankBackendError, match="status 422") as error:
        run(Server(texts), texts, Limits(100, 10**6))
    assert error.value.reason == "rejected"


def test_the_longest_of_a_hundred_is_found_in_nine_calls() -> None:
    texts = ["x" * (1 + i) for i in range(100)]
    server = Server([texts[-1]])
    scores = run(server, texts, Limits(100, 10**6))
    assert isinstance(scores[99], RowFault)
    assert len(server.sent) - 1 == 9


def test_texts_that_are_refused_only_together_are_all_scored() -> None:
    texts = ["x" * 40 for _ in range(8)]
    server = Server(most_bytes=100)
    assert run(server, texts, Limits(100, 10**6)) == [0.04] * 8


def test_a_server_that_refuses_every_text_is_not_asked_for_each() -> None:
    texts = [f"{i}" for i in range(100)]
    server = Server(texts)
    with pytest.raises(RerankBackendError) as error:
        run(server, texts, Limits(100, 10**6))
    assert error.value.reason == "rejected"
    assert len(server.sent) == 1 + WITNESSES


def test_a_listwise_models_texts_are_never_parted() -> None:
    server = Server(["b"])
    with pytest.raises(RerankBackendError, match="listwise"):
        run(server, ["a"] * 5, Limits(3, 100, pointwise=False))
    assert server.sent == []
    with pytest.raises(RerankBackendError, match="422"):
        run(server, ["a", "b"], Limits(3, 100, pointwise=False))
    assert len(server.sent) == 1
