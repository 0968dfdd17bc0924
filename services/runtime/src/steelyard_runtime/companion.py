"""A Python process of our own beside a service, and the socket to it."""

import asyncio
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping, Sequence


async def start(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[Process, socket.socket]:
    """Start Python with `arguments`; the process, and our end of the socket that is its standard input.

    It has nothing else of this process than that and standard error: not its environment, folder or terminal, whose
    signals would reach it. It is to end when the socket does. Raises OSError.
    """
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *arguments,
                stdin=theirs.fileno(),
                stdout=DEVNULL,
                env=environment,
                cwd="/",
                start_new_session=True,
            )
    except BaseException:
        ours.close()
        raise
    return process, ours
