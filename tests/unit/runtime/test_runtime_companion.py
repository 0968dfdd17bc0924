"""A process beside a service: what it gets, what it does not, and what is left when it can not be started."""

import asyncio
import sys
from pathlib import Path

import pytest

from steelyard_runtime import companion

pytestmark = pytest.mark.anyio

_TELLING = """
import json, os, socket
with socket.socket(fileno=os.dup(0)) as channel:
    told = [os.getcwd(), os.getsid(0) == os.getpid(), {k: v for k, v in os.environ.items() if k != "LC_CTYPE"}]
    channel.sendall(json.dumps(told).encode() + channel.recv(9))
"""


def open_files() -> set[str]:
    return {one.name for one in Path("/proc/self/fd").iterdir()}


async def test_it_has_a_socket_and_nothing_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_SECRET", "canary")
    process, channel = await companion.start(("-c", _TELLING), {"GIVEN": "1"})
    reader, writer = await asyncio.open_connection(sock=channel)
    writer.write(b"hello")
    assert await reader.read() == b'["/", true, {"GIVEN": "1"}]hello'
    writer.close()
    assert await process.wait() == 0


async def test_one_that_can_not_be_started_leaves_no_socket_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    before = open_files()
    with pytest.raises(FileNotFoundError):
        await companion.start((), {})
    assert open_files() == before
