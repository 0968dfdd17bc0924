"""The circuit breaker, the bulkhead and the retry budget by themselves; time is a number that the tests set."""

import asyncio

import pytest

from steelyard_runtime.upstream.breaker import Circuit, CircuitBreaker
from steelyard_runtime.upstream.bulkhead import Bulkhead, BulkheadFullError
from steelyard_runtime.upstream.retry_budget import CALLS_PER_RETRY, MOST_SAVED, RetryBudget


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(clock, failures=3, cooldown_s=2.0)


def fail(breaker: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        assert breaker.admits()
        breaker.failed()


class TestCircuitBreaker:
    def test_it_opens_after_that_many_failures_in_a_row(self, breaker: CircuitBreaker) -> None:
        fail(breaker, 2)
        assert (breaker.state, breaker.retry_after_s) == (Circuit.CLOSED, 0.0)
        fail(breaker, 1)
        assert (breaker.state, breaker.failures, breaker.retry_after_s) == (Circuit.OPEN, 3, 2.0)
        assert not breaker.admits()

    def test_a_success_in_between_starts_the_count_again(self, breaker: CircuitBreaker) -> None:
        fail(breaker, 2)
        breaker.succeeded()
        fail(breaker, 2)
        assert breaker.state is Circuit.CLOSED

    def test_after_the_cool_down_one_call_decides(self, breaker: CircuitBreaker, clock: Clock) -> None:
        fail(breaker, 3)
        clock.now += 1.9
        assert not breaker.admits()
        clock.now += 0.1
        assert breaker.state is Circuit.HALF_OPEN
        assert [breaker.admits() for _ in range(3)] == [True, False, False]
        breaker.succeeded()
        assert breaker.state is Circuit.CLOSED
        assert all(breaker.admits() for _ in range(3))

    def test_a_try_that_fails_or_hangs_keeps_it_open_for_another_cool_down(
        self, breaker: CircuitBreaker, clock: Clock
    ) -> None:
        fail(breaker, 3)
        for reported in (True, False, True):
            clock.now += 2.0
            assert breaker.admits()
            if reported:
                breaker.failed()
            assert (breaker.state, breaker.retry_after_s) == (Circuit.OPEN, 2.0)

    def test_one_failure_that_asks_for_a_rest_gets_it(self, breaker: CircuitBreaker, clock: Clock) -> None:
        assert breaker.admits()
        breaker.failed(30.0)
        clock.now += 29
        assert (breaker.admits(), breaker.retry_after_s) == (False, 1.0)
        clock.now += 1
        assert breaker.admits()
        breaker.succeeded()
        assert breaker.state is Circuit.CLOSED

    def test_a_success_from_before_the_rest_does_not_end_it(self, breaker: CircuitBreaker) -> None:
        assert breaker.admits()
        assert breaker.admits()
        breaker.failed(30.0)
        breaker.succeeded()
        assert not breaker.admits()

    def test_a_shorter_rest_does_not_shorten_a_longer_one(self, breaker: CircuitBreaker, clock: Clock) -> None:
        breaker.failed(30.0)
        breaker.failed(1.0)
        clock.now += 2
        assert not breaker.admits()

    def test_calls_that_were_under_way_when_it_opened_do_not_prolong_it(
        self, breaker: CircuitBreaker, clock: Clock
    ) -> None:
        fail(breaker, 3)
        clock.now += 1.0
        breaker.failed()
        clock.now += 1.0
        assert breaker.state is Circuit.HALF_OPEN


class TestBulkhead:
    def test_calls_beyond_its_places_are_refused_and_a_place_can_be_had_again(self) -> None:
        async def work() -> None:
            bulkhead = Bulkhead(2, patience_s=0.001)
            for _ in range(2):
                await bulkhead.take()
            for _ in range(3):
                with pytest.raises(BulkheadFullError):
                    await bulkhead.take()
            for _ in range(2):
                bulkhead.give_back()
            for _ in range(2):
                await bulkhead.take()

        asyncio.run(work())

    def test_a_burst_waits_for_its_turn_while_calls_end(self) -> None:
        async def work() -> list[int]:
            bulkhead = Bulkhead(2, patience_s=20)
            order: list[int] = []

            async def call(number: int) -> None:
                await bulkhead.take()
                await asyncio.sleep(0)
                order.append(number)
                bulkhead.give_back()

            await asyncio.gather(*(call(number) for number in range(20)))
            return order

        assert asyncio.run(work()) == list(range(20))

    def test_once_it_has_stalled_nobody_waits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def work() -> None:
            loop = asyncio.get_running_loop()
            bulkhead = Bulkhead(1, patience_s=20)
            await bulkhead.take()
            now = loop.time()
            with monkeypatch.context() as later:
                later.setattr(loop, "time", lambda: now + 21)
                with pytest.raises(BulkheadFullError):
                    await bulkhead.take()

        asyncio.run(work())

    def test_one_that_leaves_while_it_waits_takes_no_place_with_it(self) -> None:
        async def work() -> None:
            bulkhead = Bulkhead(1, patience_s=20)
            await bulkhead.take()
            waiting = [asyncio.create_task(bulkhead.take()) for _ in range(3)]
            await asyncio.sleep(0)
            for task in reversed(waiting):
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            bulkhead.give_back()
            await bulkhead.take()

        asyncio.run(work())


class TestRetryBudget:
    def test_it_begins_empty_and_allows_a_fifth(self) -> None:
        budget = RetryBudget()
        assert not budget.spend()
        spent = 0
        for _ in range(1000):
            budget.earn()
            spent += budget.spend()
        assert spent == 1000 // CALLS_PER_RETRY

    def test_what_is_saved_up_is_bounded(self) -> None:
        budget = RetryBudget()
        for _ in range(100_000):
            budget.earn()
        assert sum(budget.spend() for _ in range(1000)) == MOST_SAVED
