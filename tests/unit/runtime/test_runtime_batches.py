"""Batches for a remote server."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_runtime.batches import AT_ONCE, ask_all, batches


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 9), st.integers(1, 100))
def test_batches_hold_every_row_once_in_order_and_no_more_than_fits(
    sizes: list[int], most_rows: int, most_bytes: int
) -> None:
    made = list(batches(list(enumerate(sizes)), most_rows, most_bytes))
    assert [row for batch in made for row in batch] == list(range(len(sizes)))
    for batch in made:
        assert 1 <= len(batch) <= most_rows
        assert len(batch) == 1 or sum(sizes[row] for row in batch) <= most_bytes


def test_the_first_batch_goes_alone_and_the_others_a_few_at_a_time() -> None:
    under_way, most, asked = 0, [], []

    async def ask(rows: Sequence[int]) -> None:
        nonlocal under_way
        under_way += 1
        most.append(under_way)
        asked.append(list(rows))
        await asyncio.sleep(0)
        under_way -= 1

    asyncio.run(ask_all(ask, [[i] for i in range(12)]))
    assert most[0] == most[1] == 1
    assert max(most) == AT_ONCE
    assert sorted(asked) == [[i] for i in range(12)]


@pytest.mark.parametrize("bad", [0, 3])
def test_the_first_failure_ends_what_is_under_way_and_what_waits(bad: int) -> None:
    asked, cancelled = [], []

    async def ask(rows: Sequence[int]) -> None:
        asked.append(rows[0])
        if rows[0] == bad:
            raise ValueError("bad")
        try:
            await asyncio.sleep(0 if rows[0] == 0 else 3600)
        except asyncio.CancelledError:
            cancelled.append(rows[0])
            raise

    with pytest.raises(ValueError, match="bad"):
        asyncio.run(ask_all(ask, [[i] for i in range(12)]))
    assert asked == list(range(bad + 1))
    assert sorted(cancelled) == ([] if bad == 0 else [1, 2])


def test_no_rows_ask_nobody() -> None:
    async def ask(_rows: Sequence[int]) -> None:
        raise AssertionError

    asyncio.run(ask_all(ask, []))
