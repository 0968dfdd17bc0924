"""Between two turns the event loop looks at its sockets, so that work which comes in bunches keeps nothing waiting."""

import asyncio
import socket
from itertools import groupby

import uvloop

from steelyard_runtime.upstream.turns import AT_ONCE, Turns


def test_what_arrives_is_seen_between_two_turns() -> None:
    async def main() -> list[str]:
        turns, seen = Turns(), []
        near, far = socket.socketpair()
        near.setblocking(False)
        asyncio.get_running_loop().add_reader(near.fileno(), lambda: seen.append(near.recv(24).decode()))

        async def work(number: int) -> None:
            await turns.take()
            seen.append(str(number))
            far.send(b"+")

        await asyncio.gather(*(work(number) for number in range(24)))
        asyncio.get_running_loop().remove_reader(near.fileno())
        near.close()
        far.close()
        return seen

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # the services' own loop
        seen = runner.run(main())
    assert [int(part) for part in seen if "+" not in part] == list(range(24))
    longest = max(len(list(run)) for arrived, run in groupby(seen, lambda part: "+" in part) if not arrived)
    assert longest == AT_ONCE


def test_one_alone_does_not_wait() -> None:
    async def main() -> None:
        turns = Turns()
        for _ in range(3):
            waiting = turns.take()
            try:
                waiting.send(None)
            except StopIteration:
                pass
            else:
                raise AssertionError("waited")
            for _ in range(2):
                await asyncio.sleep(0)

    asyncio.run(main())


def test_turns_go_round_also_when_some_of_those_that_wait_are_cancelled() -> None:
    async def main() -> list[int]:
        turns, done = Turns(), []

        async def work(number: int) -> None:
            await turns.take()
            done.append(number)

        for _ in range(3):
            tasks = [asyncio.create_task(work(number)) for number in range(3 * AT_ONCE)]
            await asyncio.sleep(0)
            for waiting in tasks[AT_ONCE::2]:
                waiting.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for _ in range(4):
                await asyncio.sleep(0)
        return done

    assert asyncio.run(main()) == [*range(AT_ONCE), *range(AT_ONCE + 1, 3 * AT_ONCE, 2)] * 3
