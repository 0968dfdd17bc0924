"""A caller that leaves while its parser process is being taken over."""

import asyncio
import socket
from typing import Any

import pytest

from steelyard_dataprep.preparation.isolation import _ParserProcess


@pytest.mark.parametrize("opened", [0, 1])
def test_it_leaves_no_socket_open(opened: int, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, calls = asyncio.open_connection, 0

    async def cancelled(sock: socket.socket, **options: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        nonlocal calls
        calls += 1
        if calls > opened:
            sock.close()
            raise asyncio.CancelledError
        return await connect(sock=sock, **options)

    monkeypatch.setattr(asyncio, "open_connection", cancelled)
    (channel, theirs), (told, their_told) = socket.socketpair(), socket.socketpair()
    server: Any = None

    async def scenario() -> None:
        with pytest.raises(asyncio.CancelledError):
            await _ParserProcess.over(server, channel, told)
        for end in (theirs, their_told):
            end.settimeout(10)  # one that stays open would be waited for, for ever
            assert await asyncio.to_thread(end.recv, 1) == b""

    with theirs, their_told:
        asyncio.run(scenario())
