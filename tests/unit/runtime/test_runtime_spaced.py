"""A look that is not repeated at once."""

import asyncio

import pytest

from steelyard_runtime.spaced import Spaced


def test_a_look_is_trusted_for_its_time_unless_it_failed_or_was_forgotten() -> None:
    now, looks, fails = [0.0], [0], [False]

    async def look() -> None:
        looks[0] += 1
        if fails[0]:
            raise ValueError("bad")

    async def main() -> None:
        spaced = Spaced(look, clock=lambda: now[0], good_for_s=10)
        await spaced()
        now[0] = 9.9
        await spaced()
        assert looks == [1]
        now[0] = 10.0
        fails[0] = True
        for _ in range(2):
            with pytest.raises(ValueError, match="bad"):
                await spaced()
        fails[0] = False
        await spaced()
        assert looks == [4]
        spaced.forget()
        await spaced()
        assert looks == [5]

    asyncio.run(main())


def test_a_look_that_is_good_for_no_time_is_taken_every_time() -> None:
    looks = [0]

    async def look() -> None:
        looks[0] += 1

    async def main() -> None:
        spaced = Spaced(look, clock=lambda: 5.0, good_for_s=0)
        await spaced()
        await spaced()

    asyncio.run(main())
    assert looks == [2]
