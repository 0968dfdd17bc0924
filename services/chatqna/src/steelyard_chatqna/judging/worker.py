"""The judging process: reads calls from the socket that is its standard input, one after the other, and replies.

Run by `JudgingProcess` as `python -m steelyard_chatqna.judging.worker`; it ends when the gateway does. It imports what
judging needs and no more: neither the web framework nor a client.
"""

import os
import pickle
import socket
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from steelyard_contracts.enums import CitationMode

from ..grounding.evidence import SentChunk
from ..grounding.extractive import extract
from ..grounding.rewriting import distortion
from ..verdict import Judge, Verdict
from .wire import LENGTH, frame

Opening = tuple[str, Sequence[SentChunk], CitationMode]
"""What a case is about: question, evidence and citation mode."""


class Cases:
    """The answers that are being judged: what was read of one is kept until it is complete."""

    def __init__(self) -> None:
        self._judges: dict[int, Judge] = {}

    def __len__(self) -> int:
        return len(self._judges)

    def judge(self, case: int, opening: Opening | None, answer: str) -> Verdict:
        """Judge what there is of an answer; the first call of a case opens it."""
        if opening is not None:
            self._judges[case] = Judge(*opening)
        return self._judges[case].judge(answer)

    def close(self, case: int) -> None:
        """Forget a case, which may have been opened or not."""
        self._judges.pop(case, None)


def serve(channel: socket.socket) -> None:
    """Do what is called for until the other side closes; what has no number gets no reply."""
    cases = Cases()
    operations: dict[str, Callable[..., Any]] = {
        "judge": cases.judge,
        "close": cases.close,
        "open_cases": cases.__len__,
        "extract": extract,
        "distortion": distortion,
    }
    with channel, channel.makefile("rb") as calls:
        while len(head := calls.read(LENGTH.size)) == LENGTH.size:
            payload = calls.read(LENGTH.unpack(head)[0])
            # The gateway is our own program, and the only one that has the other end.
            number, operation, args = pickle.loads(payload)  # noqa: S301
            reply = _done(operations[operation], args)
            if number is not None:
                channel.sendall(frame((number, *reply)))


def _done(operation: Callable[..., Any], args: tuple[Any, ...]) -> tuple[bool, Any]:
    """Whether `operation` raised, and its result, or what it raised and where."""
    try:
        return False, operation(*args)
    except Exception as error:  # noqa: BLE001 - the boundary: one answer's fault must not end the others' judging
        return True, f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"


if __name__ == "__main__":
    serve(socket.socket(fileno=os.dup(0)))
