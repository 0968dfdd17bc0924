"""The circuit breaker, on a clock that the test turns."""

import asyncio

import pytest

from steelyard_runtime.breaker import Breaker, BreakerOpenError


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(failures=3, cooldown_s=5.0, clock=clock)


def fail(breaker: Breaker, times: int = 1, hold_s: float = 0.0) -> None:
    for _ in range(times):
        with breaker.attempt() as attempt:
            attempt.fail(hold_s)


def succeed(breaker: Breaker) -> None:
    with breaker.attempt() as attempt:
        attempt.succeed()


def is_open(breaker: Breaker) -> bool:
    try:
        with breaker.attempt():
            return False
    except BreakerOpenError:
        return True


def test_it_opens_after_failures_in_a_row_only(breaker: Breaker) -> None:
    fail(breaker, 2)
    succeed(breaker)
    fail(breaker, 2)
    assert not is_open(breaker)
    fail(breaker)
    assert is_open(breaker)


def test_it_says_how_long_it_stays_open(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 2
    with pytest.raises(BreakerOpenError, match=r"3\.0 s more") as error, breaker.attempt():
        pass
    assert error.value.seconds == pytest.approx(3.0)


def test_half_open_it_lets_one_call_through_at_a_time(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 5
    with breaker.attempt() as trial:
        assert is_open(breaker)
        trial.succeed()
    assert not is_open(breaker)


def test_a_failed_trial_opens_it_again(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 5
    fail(breaker)
    assert is_open(breaker)
    clock.now += 4.9
    assert is_open(breaker)
    clock.now += 0.2
    succeed(breaker)
    fail(breaker, 2)
    assert not is_open(breaker)


def test_a_trial_that_is_given_up_leaves_the_next_one_its_turn(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 5
    with pytest.raises(asyncio.CancelledError), breaker.attempt():
        raise asyncio.CancelledError
    succeed(breaker)
    assert not is_open(breaker)


def test_a_call_that_says_nothing_changes_nothing(breaker: Breaker) -> None:
    fail(breaker, 2)
    with breaker.attempt():
        pass
    fail(breaker)
    assert is_open(breaker)


def test_one_failure_that_asks_for_a_rest_gets_it(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, hold_s=30.0)
    clock.now += 29
    assert is_open(breaker)
    clock.now += 1
    assert not is_open(breaker)


def test_a_success_from_before_the_failures_does_not_end_a_rest(breaker: Breaker, clock: Clock) -> None:
    with breaker.attempt() as early:
        fail(breaker, 3)
        early.succeed()
    assert is_open(breaker)
