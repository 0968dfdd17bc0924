"""Which coordinator is asked first, on a clock that the test turns."""

from steelyard_store.arangodb.coordinators import SHUNNED_S, Coordinators


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_configured_order_is_kept_while_all_answer() -> None:
    coordinators = Coordinators(["a", "b", "c"])
    coordinators.answered(2)
    assert coordinators.in_order() == [0, 1, 2]


def test_one_that_failed_is_asked_last_until_its_time_is_over() -> None:
    clock = Clock()
    coordinators = Coordinators(["a", "b", "c"], clock)
    coordinators.failed(0)
    assert coordinators.in_order() == [1, 2, 0]
    clock.now += SHUNNED_S
    assert coordinators.in_order() == [0, 1, 2]


def test_a_coordinator_that_returned_is_in_use_within_five_seconds() -> None:
    assert SHUNNED_S < 5


def test_of_several_that_failed_the_one_that_had_longest_to_recover_comes_first() -> None:
    clock = Clock()
    coordinators = Coordinators(["a", "b", "c"], clock)
    for index in (1, 0, 2):
        coordinators.failed(index)
        clock.now += 0.1
    assert coordinators.in_order() == [1, 0, 2]


def test_one_that_answered_is_trusted_again_at_once() -> None:
    coordinators = Coordinators(["a", "b"], Clock())
    coordinators.failed(0)
    coordinators.answered(0)
    assert coordinators.in_order() == [0, 1]
