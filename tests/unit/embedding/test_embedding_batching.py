"""Concurrent requests share runs of the model; nobody gets another's vectors, errors or cancellation."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import Context

import numpy as np
import pytest

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_embedding.backends.port import EmbeddingBackendError, Vectors
from steelyard_embedding.batching import MicroBatcher
from steelyard_runtime import context

from .fake_model import FakeModel, vector_of


@asynccontextmanager
async def batching(model: FakeModel, max_texts: int = 4, at_once: int = 1) -> AsyncIterator[MicroBatcher]:
    try:
        yield MicroBatcher(model.run, max_texts, at_once)
    finally:
        model.let_go()


def run(model: FakeModel, use: Callable[[MicroBatcher], Awaitable[None]], max_texts: int = 4, at_once: int = 1) -> None:
    async def main() -> None:
        async with batching(model, max_texts, at_once) as batcher:
            await use(batcher)

    asyncio.run(main())


async def held(model: FakeModel, batcher: MicroBatcher, text: str) -> "asyncio.Task[object]":
    """A request whose run of the model has begun and is held up."""
    task: asyncio.Task[object] = asyncio.create_task(batcher.embed([text]))
    await asyncio.to_thread(model.wait_until_begun)
    return task


async def queued(batcher: MicroBatcher, *requests: list[str]) -> "list[asyncio.Task[object]]":
    """Requests that wait, in this order."""
    tasks: list[asyncio.Task[object]] = [asyncio.create_task(batcher.embed(texts)) for texts in requests]
    await asyncio.sleep(0)
    return tasks


def expect(rows: object, *texts: str) -> None:
    np.testing.assert_array_equal(rows, np.array([vector_of(text) for text in texts]))


def test_a_lone_request_runs_at_once() -> None:
    model = FakeModel()

    async def use(batcher: MicroBatcher) -> None:
        expect(await batcher.embed(["a", "b"]), "a", "b")

    run(model, use)
    assert model.runs == [["a", "b"]]


def test_requests_that_wait_share_a_run_and_get_their_own_rows() -> None:
    model = FakeModel(hold=True)

    async def use(batcher: MicroBatcher) -> None:
        first = await held(model, batcher, "first")
        waiting = await queued(batcher, ["a"], ["b", "c"], ["d"])
        model.let_go()
        expect(await first, "first")
        for task, texts in zip(waiting, (["a"], ["b", "c"], ["d"]), strict=True):
            expect(await task, *texts)

    run(model, use)
    assert model.runs == [["first"], ["a", "b", "c", "d"]]


def test_a_run_holds_no_more_than_max_texts_unless_one_request_has_more() -> None:
    model = FakeModel(hold=True)

    async def use(batcher: MicroBatcher) -> None:
        first = await held(model, batcher, "first")
        waiting = await queued(batcher, ["a", "b"], ["c", "d"], ["e"], ["f", "g", "h", "i", "j"], ["k"])
        model.let_go()
        await asyncio.gather(first, *waiting)

    run(model, use, max_texts=4)
    assert model.runs == [["first"], ["a", "b", "c", "d"], ["e"], ["f", "g", "h", "i", "j"], ["k"]]


def test_many_concurrent_requests_of_many_sizes_keep_their_order() -> None:
    async def use(batcher: MicroBatcher) -> None:
        requests = [[f"{number}-{i}" for i in range(number % 5 + 1)] for number in range(60)]
        replies = await asyncio.gather(*(batcher.embed(texts) for texts in requests))
        for texts, rows in zip(requests, replies, strict=True):
            expect(rows, *texts)

    run(FakeModel(), use, max_texts=7)


def test_one_requests_fault_is_not_anothers() -> None:
    model = FakeModel(hold=True, refuse=frozenset({"bad"}))

    async def use(batcher: MicroBatcher) -> None:
        first = await held(model, batcher, "first")
        good, bad, fine = await queued(batcher, ["good"], ["bad"], ["fine"])
        model.let_go()
        expect(await first, "first")
        expect(await good, "good")
        with pytest.raises(RuntimeError, match="can not embed"):
            await bad
        expect(await fine, "fine")
        expect(await batcher.embed(["later"]), "later")

    run(model, use)
    assert model.runs[1] == ["good", "bad", "fine"]


def test_a_first_request_that_is_cancelled_does_not_strand_those_after_it() -> None:
    model = FakeModel(hold=True)

    async def use(batcher: MicroBatcher) -> None:
        first = await held(model, batcher, "first")
        [second] = await queued(batcher, ["second"])
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        model.let_go()
        expect(await second, "second")

    run(model, use)


def test_requests_that_were_cancelled_while_waiting_are_not_run() -> None:
    model = FakeModel(hold=True)

    async def use(batcher: MicroBatcher) -> None:
        first = await held(model, batcher, "first")
        gone, stays = await queued(batcher, ["gone"], ["stays"])
        gone.cancel()
        model.let_go()
        expect(await first, "first")
        expect(await stays, "stays")

    run(model, use)
    assert model.runs == [["first"], ["stays"]]


def test_the_model_is_not_run_when_everybody_who_waited_has_left() -> None:
    model = FakeModel(hold=True)

    async def use(batcher: MicroBatcher) -> None:
        first = await held(model, batcher, "first")
        for task in await queued(batcher, ["a"], ["b"]):
            task.cancel()
        model.let_go()
        expect(await first, "first")
        expect(await batcher.embed(["later"]), "later")

    run(model, use)
    assert model.runs == [["first"], ["later"]]


def test_a_request_that_left_a_failing_run_is_not_tried_alone() -> None:
    model = FakeModel(hold=True, refuse=frozenset({"bad"}))

    async def use(batcher: MicroBatcher) -> None:
        first = await held(model, batcher, "first")
        bad, gone, stays = await queued(batcher, ["bad"], ["gone"], ["stays"])
        model.let_go(1)
        await first
        await asyncio.to_thread(model.wait_until_begun)
        gone.cancel()
        model.let_go()
        with pytest.raises(RuntimeError, match="can not embed"):
            await bad
        expect(await stays, "stays")

    run(model, use)
    assert model.runs == [["first"], ["bad", "gone", "stays"], ["bad"], ["stays"]]


def test_the_runs_do_not_carry_the_context_of_the_request_that_began_them() -> None:
    seen: list[str | None] = []

    async def embed(_texts: object, _deadline: object) -> object:
        try:
            seen.append(context.current().request_id)
        except LookupError:
            seen.append(None)
        return np.array([vector_of("a")])

    async def main() -> None:
        context.bind(context.RequestContext("first", asyncio.get_running_loop().time() + 20))
        await MicroBatcher(embed, 4).embed(["a"])  # type: ignore[arg-type]

    asyncio.run(main())
    assert seen == [None]


@pytest.mark.parametrize("code", ["upstream_unreachable", "upstream_timeout", "overloaded", "model_unavailable"])
def test_a_failure_that_no_text_has_caused_is_everybodys_and_asks_once(code: str) -> None:
    model = FakeModel(hold=True)

    async def use(batcher: MicroBatcher) -> None:
        first = await held(model, batcher, "first")
        waiting = await queued(batcher, ["a"], ["b"])
        asked = []

        def dead(texts: Sequence[str]) -> Vectors:
            asked.append(list(texts))
            raise UpstreamError(ErrorCode(code), "dead", stage=Stage.EMBEDDING)

        model.vectors = dead  # type: ignore[method-assign]
        model.let_go()
        await first
        for task in waiting:
            with pytest.raises(UpstreamError, match="dead"):
                await task
        assert asked == [["a", "b"]]

    run(model, use)


def test_a_backend_that_works_on_several_runs_gets_several() -> None:
    model = FakeModel(hold=True)

    async def use(batcher: MicroBatcher) -> None:
        first, second = await held(model, batcher, "first"), await held(model, batcher, "second")
        waiting = await queued(batcher, ["a"], ["b"])
        model.let_go()
        for task, text in zip((first, second, *waiting), ("first", "second", "a", "b"), strict=True):
            expect(await task, text)

    run(model, use, at_once=2)
    assert model.runs == [["first"], ["second"], ["a", "b"]]


def test_a_run_has_as_much_time_as_the_request_that_waits_longest() -> None:
    given: list[float | None] = []

    async def embed(_texts: Sequence[str], deadline: float | None) -> Vectors:
        given.append(deadline)
        return np.array([vector_of("a")] * len(_texts))

    async def main() -> None:
        batcher = MicroBatcher(embed, 4)
        for deadlines in ((1e6, 2e6), (1e6, None)):
            tasks = []
            for deadline in deadlines:
                made = Context()
                if deadline is not None:
                    made.run(context.bind, context.RequestContext("r", deadline))
                tasks.append(asyncio.create_task(batcher.embed(["a"]), context=made))
            await asyncio.gather(*tasks)

    asyncio.run(main())
    assert given == [2e6, None]


def test_closing_refuses_what_waits_and_what_comes() -> None:
    model = FakeModel(hold=True)

    async def use(batcher: MicroBatcher) -> None:
        first = await held(model, batcher, "first")
        [second] = await queued(batcher, ["second"])
        await batcher.close()
        for task in (first, second):
            with pytest.raises(EmbeddingBackendError, match="closed"):
                await task
        with pytest.raises(EmbeddingBackendError, match="closed"):
            await batcher.embed(["third"])

    run(model, use)
    assert model.runs == [["first"]]


def test_closing_an_idle_batcher_is_quiet() -> None:
    async def use(batcher: MicroBatcher) -> None:
        await batcher.close()

    run(FakeModel(), use)
