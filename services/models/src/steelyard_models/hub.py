"""Fetching a file over HTTP: a short deadline to answer, then a resumable stream."""

import threading
import time
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from queue import Empty, Queue
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from .errors import SourceMismatchError, SourceRefusedError, SourceUnreachableError

ANSWER_SECONDS = 3.0
STALL_SECONDS = 30.0
_BLOCK = 1 << 18


def fetch_url(
    url: str, partial: Path, size: int, on_total: Callable[[int], None], *, answer_seconds: float = ANSWER_SECONDS
) -> None:
    """Append the bytes of `url` to `partial` until it has `size` bytes, continuing where it ended before.

    `on_total` hears the length of `partial` after each block. Raises `SourceUnreachableError` if nothing answers
    within `answer_seconds` or the stream stalls (the bytes so far stay for the next try), `SourceRefusedError` on an
    HTTP status that is not the file, `SourceMismatchError` if the source has more than `size` bytes.
    """
    have = partial.stat().st_size if partial.exists() else 0
    if have > size:
        partial.unlink()
        have = 0
    if have == size:
        return
    response = _open_within(url, have, answer_seconds)
    with response, partial.open("ab") as stream:
        if response.status != 206:
            # The server ignored the range and starts at byte 0.
            stream.truncate(0)
            have = 0
        while block := _read(response, url, have, size):
            have += len(block)
            if have > size:
                raise SourceMismatchError(f"{url} has more than the expected {size} bytes")
            stream.write(block)
            on_total(have)
    if have < size:
        raise SourceUnreachableError(f"{url} ended after {have} of {size} bytes")


def _read(response: HTTPResponse, url: str, have: int, size: int) -> bytes:
    try:
        return response.read(_BLOCK)
    except (OSError, HTTPException) as error:
        raise SourceUnreachableError(f"{url} broke off after {have} of {size} bytes: {error}") from error


def _open_within(url: str, offset: int, seconds: float) -> HTTPResponse:
    """Open in a thread, because name resolution and a row of dead addresses ignore a socket's timeout."""
    answers: Queue[HTTPResponse | BaseException] = Queue()
    given_up = threading.Event()

    def open_it() -> None:
        request = Request(url, headers={"Range": f"bytes={offset}-"} if offset else {})  # noqa: S310 - catalogue-checked
        try:
            response = urlopen(request, timeout=STALL_SECONDS)  # noqa: S310 - scheme validated by the catalogue
        except BaseException as error:  # noqa: BLE001 - handed to the waiting thread, which raises it typed
            answers.put(error)
            return
        answers.put(response)
        if given_up.is_set():
            response.close()

    started = time.monotonic()
    threading.Thread(target=open_it, name="hub-open", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except Empty:
        given_up.set()
        if not answers.empty() and isinstance(late := answers.get(), HTTPResponse):
            late.close()
        raise SourceUnreachableError(f"{url} did not answer within {seconds:g} s") from None
    if isinstance(answer, HTTPError):
        with answer:
            raise SourceRefusedError(f"{url} answered HTTP {answer.code}") from answer
    if isinstance(answer, URLError | OSError | HTTPException):
        waited = time.monotonic() - started
        raise SourceUnreachableError(f"{url} is unreachable after {waited:.1f} s: {answer}") from answer
    if isinstance(answer, BaseException):
        raise answer
    return answer
