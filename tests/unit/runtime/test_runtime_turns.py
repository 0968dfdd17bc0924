"""Between two turns the event loop looks at its sockets, so that work which comes in bunches keeps nothing waiting."""

import asyncio
import socket

import uvloop

from steelyard_runtime.turns import Turns


def test_what_arrives_is_seen_between_two_turns() -> None:
    async def main() -> list[str]:
        turns, seen = Turns(), []
        near, far = socket.socketpair()
        near.setblocking(False)
        asyncio.get_running_loop().add_reader(near.fileno(), lambda: seen.append(near.recv(1).decode()))

        async def work(number: int) -> None:
            await turns.take()
            seen.append(str(number))
            if number < 4:
                far.send(b"+")

        await asyncio.gather(*(work(number) for number in range(5)))
        asyncio.get_running_loop().remove_reader(near.fileno())
        near.close()
        far.close()
        return seen

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # the services' own loop
        assert "".join(runner.run(main())).rstrip("+") == "0+1+2+3+4"


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
            tasks = [asyncio.create_task(work(number)) for number in range(6)]
            await asyncio.sleep(0)
            for number in (1, 3, 5):
                tasks[number].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return done

    assert asyncio.run(main()) == [0, 2, 4] * 3
