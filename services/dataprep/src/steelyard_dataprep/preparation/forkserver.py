"""The process from which every parser process is forked: it has loaded all that they need, and never sees a file.

Run by `IsolatedParser` as `python -m steelyard_dataprep.preparation.forkserver TOKENIZER`, with a Unix socket as its
standard input. For each byte that arrives there, with two sockets attached, one process is forked. It serves one file
over the first socket. Over the second one the file's end is told (`ENDED`), and closing it from the other side kills
the process. When standard input ends, everything does.

A parser process therefore starts in a few milliseconds with the memory of a process that no file has touched, and what
a file does to its own copy of that memory ends with it (docs/adr/0020-forked-parsers.md).
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import struct
import sys
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from steelyard_dataprep.chunking.counter import TokenCounter
from steelyard_dataprep.preparation import worker
from steelyard_models.tokenizer import TextTokenizer

READY = b"r"
FORK = b"f"
ENDED = struct.Struct(">id")
"""A process's exit status (negative for the signal that killed it) and the CPU seconds that it used."""

_FORMATS = ("mail", "markdown", "pdf", "plain", "rows", "webpage", "word")
_HIGHEST_FD = 4096


def main() -> None:
    """Load, then fork on request until the service is gone."""
    control = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    count_tokens = TextTokenizer(Path(sys.argv[1])).count
    for name in _FORMATS:
        import_module(f"steelyard_dataprep.parsing.{name}")
    count_tokens("The first call loads what the tokenizer needs.")
    # Nothing is collected that was there before the fork, so that those pages stay shared.
    gc.collect()
    gc.freeze()
    with control, ForkServer(control, count_tokens) as server:
        control.sendall(READY)
        server.run()


class ForkServer:
    """Forks parser processes, tells when they end, and kills those that nobody waits for any more."""

    def __init__(self, control: socket.socket, count_tokens: TokenCounter) -> None:
        self._control = control
        self._count_tokens = count_tokens
        self._told: dict[int, socket.socket] = {}
        self.selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()

    def __enter__(self) -> ForkServer:
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        self.selector.register(self._control, selectors.EVENT_READ, self._fork)
        self.selector.register(self._woken, selectors.EVENT_READ, self._reap)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._told:
            _kill(process)
        signal.set_wakeup_fd(-1)
        self.selector.close()
        self._woken.close()
        self._wake.close()

    def run(self) -> None:
        """Serve until the control socket ends."""
        while self.step():
            pass

    def step(self) -> bool:
        """Wait for something to happen and see to it; False when the control socket has ended."""
        said = [key.data() for key, _ in self.selector.select()]
        return False not in said

    def _fork(self) -> bool:
        """Start a process for the two sockets that arrive; False when there will be no more."""
        message, descriptors, _, _ = socket.recv_fds(self._control, len(FORK), 2)
        if not message:
            return False
        sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        if len(sockets) != 2:
            # No descriptors were left for them. That the others are closed says that there is no process.
            for one in sockets:
                one.close()
            return True
        channel, told = sockets
        with channel:
            try:
                process = os.fork()
            except OSError:
                told.close()
                return True
            if process == 0:
                _be_worker(channel.fileno(), self._count_tokens)
            self._told[process] = told
            with suppress(ProcessLookupError, PermissionError):
                os.setpgid(process, process)
            self.selector.register(told, selectors.EVENT_READ, partial(self._give_up, process, told))
        return True

    def _give_up(self, process: int, told: socket.socket) -> None:
        """The other side closed its socket: kill the process. It is told of all the same, once it has ended."""
        if self._told.get(process) is told:
            self.selector.unregister(told)
            _kill(process)
        # Otherwise it ended by itself, and was told of, after both were seen to have happened.

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass
        with suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                # What it may have started in spite of everything goes with it, while its number is still its own.
                _kill(ended.si_pid)
                process, status, usage = os.wait4(ended.si_pid, 0)
                told = self._told.pop(process)
                with suppress(KeyError):
                    self.selector.unregister(told)
                with told, suppress(BrokenPipeError, ConnectionResetError):
                    told.sendall(ENDED.pack(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime))


def _be_worker(channel: int, count_tokens: TokenCounter) -> NoReturn:
    """Keep the channel as the only open descriptor besides the standard ones, which lead nowhere, and serve it."""
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(channel, 0)
        for standard in (1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), standard)
        os.closerange(3, _HIGHEST_FD)
        _be_killed_first()
        worker.serve(os.fdopen(0, "rb"), os.fdopen(os.dup(0), "wb"), count_tokens)
    finally:
        os._exit(1)


def _be_killed_first() -> None:
    """When the machine runs out of memory, this process is to go and not the service. Only Linux can be told."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _kill(process: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


if __name__ == "__main__":
    main()
