"""What the fork server does when things happen at once."""

import os
import selectors
import signal
import socket
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pytest

from steelyard_dataprep.preparation import worker
from steelyard_dataprep.preparation.forkserver import ENDED, FORK, ForkServer


@pytest.fixture
def restored_signals() -> Iterator[None]:
    """The fork server has a process of its own in service, here it has the tests'."""
    before = signal.getsignal(signal.SIGCHLD)
    yield
    signal.signal(signal.SIGCHLD, before)


class AllAtOnce(selectors.DefaultSelector):
    """Tells of the first event only when there are as many as `together`, the wake-up before the others."""

    together = 1

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        while len(found := super().select(timeout)) < self.together:
            pass
        self.together = 1
        return sorted(found, key=lambda event: getattr(event[0].data, "__name__", "") != "_reap")


def exits(_source: BinaryIO, _reply: BinaryIO, _count: Callable[[str], int]) -> None:
    os._exit(0)


def test_a_process_that_ends_while_it_is_given_up_ends_nothing_else(
    monkeypatch: pytest.MonkeyPatch, restored_signals: None
) -> None:
    monkeypatch.setattr(worker, "serve", exits)
    monkeypatch.setattr(selectors, "DefaultSelector", AllAtOnce)
    control, theirs = socket.socketpair()
    channel, their_channel = socket.socketpair()
    told, their_told = socket.socketpair()
    with control, theirs, channel, told, ForkServer(theirs, len) as server:
        with their_channel, their_told:
            socket.send_fds(control, [FORK], [their_channel.fileno(), their_told.fileno()])
        server.step()
        told.shutdown(socket.SHUT_WR)
        server.selector.together = 2  # type: ignore[attr-defined]  # the selector of this test
        assert server.step()
        assert ENDED.unpack(told.recv(ENDED.size))[0] == 0
        control.shutdown(socket.SHUT_WR)
        assert not server.step()
