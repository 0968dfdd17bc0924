"""Server-sent events from any split of the byte stream."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_cli.errors import BrokenReplyError
from steelyard_cli.gateway.sse import Event, read_events

_STREAM = (
    "\ufeff: a comment\r\nevent: error\rdata: eins\ndata:zwei\n\nid: 7\nretry: 3\ndata: Prüfstück 漢字 👩‍🔧\r\n\r\n"
    "data\n\n\ndata: [DONE]\n\ndata: never ended"
).encode()
_EVENTS = [
    Event("error", "eins\nzwei"),
    Event("message", "Prüfstück 漢字 👩‍🔧"),
    Event("message", ""),
    Event("message", "[DONE]"),
]


def test_every_split_in_two_gives_the_same_events():
    for cut in range(len(_STREAM) + 1):
        assert list(read_events([_STREAM[:cut], _STREAM[cut:]])) == _EVENTS


@given(st.lists(st.integers(min_value=0, max_value=len(_STREAM)), max_size=20).map(sorted))
def test_any_split_gives_the_same_events(cuts):
    bounds = [0, *cuts, len(_STREAM)]
    pieces = [_STREAM[start:end] for start, end in itertools.pairwise(bounds)]
    assert list(read_events(pieces)) == _EVENTS


def test_an_event_comes_as_soon_as_its_blank_line_does():
    def chunks():
        yield b"data: first\n\nda"
        raise AssertionError("the first event should have come already")

    assert next(read_events(chunks())) == Event("message", "first")


def test_a_last_line_that_ends_in_a_carriage_return_is_a_line():
    assert list(read_events([b"data: x\r\r"])) == [Event("message", "x")]


def test_bytes_that_are_not_utf8_are_refused():
    with pytest.raises(BrokenReplyError, match="not UTF-8"):
        list(read_events([b"data: \xff\n\n"]))


def test_an_endless_line_is_refused():
    with pytest.raises(BrokenReplyError, match="longer than"):
        list(read_events(b"x" * 2**20 for _ in range(64)))


def test_an_endless_event_is_refused():
    with pytest.raises(BrokenReplyError, match="longer than"):
        list(read_events(b"data: " + b"x" * 2**20 + b"\n" for _ in range(64)))
