"""The SSE parser: how the bytes are split changes nothing, and what the standard ignores is ignored."""

import random
from collections.abc import Sequence

import pytest

from steelyard_chatqna.llm.sse import SseParser

TEXTS = [
    "Grüße aus Köln",
    "保守点検は毎月行う。",
    "دليل الصيانة",
    "👨\u200d👩\u200d👧 ok",
    "e\u0301 é",
    "\u2028 line \u2029 separators",
]

STREAM = b"".join(
    [
        b"\xef\xbb\xbf",
        b": a comment before anything\r\n\r\n",
        f"data: {TEXTS[0]}\n\n".encode(),
        f"event: message\rid: 7\rretry: 10\rdata: {TEXTS[1]}\r\r".encode(),
        f"data:{TEXTS[2]}\r\n\r\n".encode(),
        b":keep-alive\n\n\n\r\n\r",
        f"data: {TEXTS[3]}\r\ndata\ndata:  {TEXTS[4]}\r\n: inside\r\n\n".encode(),
        b"database: not data\ndat: neither\n data: nor this\n\n",
        f"data: {TEXTS[5]}\r\n\ndata: next\r\n\ndata: third\r\r\n".encode(),
        b"data\n\n",
        b"data: [DONE]\n\n",
        b"data: never finished",
    ]
)
EVENTS = [*TEXTS[:3], f"{TEXTS[3]}\n\n {TEXTS[4]}", TEXTS[5], "next", "third", "", "[DONE]"]


def parsed(parts: Sequence[bytes], max_event_bytes: int = 2**20) -> list[str]:
    parser = SseParser(max_event_bytes)
    return [event for part in parts for event in parser.feed(part)]


def test_in_one_piece() -> None:
    assert parsed([STREAM]) == EVENTS


def test_byte_by_byte() -> None:
    assert parsed([STREAM[i : i + 1] for i in range(len(STREAM))]) == EVENTS


def test_split_in_two_at_every_position() -> None:
    for position in range(len(STREAM) + 1):
        assert parsed([STREAM[:position], STREAM[position:]]) == EVENTS, position


def test_split_in_three_with_an_empty_read_at_every_position() -> None:
    for position in range(len(STREAM) + 1):
        assert parsed([STREAM[:position], b"", STREAM[position:]]) == EVENTS, position


def test_ten_thousand_random_splits() -> None:
    source = random.Random(20_240_229)
    for _ in range(10_000):
        cuts = sorted(source.randrange(len(STREAM) + 1) for _ in range(source.randrange(1, 12)))
        parts = [STREAM[a:b] for a, b in zip([0, *cuts], [*cuts, len(STREAM)], strict=True)]
        assert parsed(parts) == EVENTS, cuts


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_an_event_is_given_as_soon_as_its_blank_line_has_come(end: str) -> None:
    """A CR that might be followed by an LF must not hold back the event that it completes."""
    parser = SseParser()
    assert list(parser.feed(f"data: one{end}{end}".encode())) == ["one"]
    assert list(parser.feed(f"data: two{end}".encode())) == []
    assert list(parser.feed(end[:1].encode())) == ["two"]
    assert list(parser.feed(f"{end[1:]}data: three{end}{end}".encode())) == ["three"]


def test_a_mark_in_the_middle_of_the_stream_is_no_byte_order_mark() -> None:
    assert parsed([b"data: a\n\n\xef\xbb\xbfdata: b\n\n"]) == ["a"]
    assert parsed([b"\xef\xbb", b"\xbfdata: a\n\n"]) == ["a"]
    assert parsed([b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n"]) == []


def test_only_one_leading_space_is_taken_off() -> None:
    assert parsed([b"data:  two\n\ndata:none\n\ndata:\ttab\n\n"]) == [" two", "none", "\ttab"]


def test_a_colon_in_the_data_belongs_to_it() -> None:
    assert parsed([b'data: {"a": "b: c"}\n\n']) == ['{"a": "b: c"}']


def test_blank_lines_without_data_are_no_events() -> None:
    assert parsed([b"\n\n\r\r\r\n\r\n: c\n\nevent: x\n\n"]) == []


def test_what_the_stream_ends_within_is_no_event() -> None:
    assert parsed([b"data: a\n\ndata: b\n"]) == ["a"]


@pytest.mark.parametrize("broken", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x91"])
def test_data_that_is_not_utf8_is_refused_and_never_guessed(broken: bytes) -> None:
    line = b"data: a" + broken + b"\n\n"
    for position in range(len(line)):
        with pytest.raises(UnicodeDecodeError):
            parsed([line[:position], line[position:]])


def test_a_comment_may_be_in_any_encoding() -> None:
    assert parsed([b": \xff\xfe\ndata: a\n\n"]) == ["a"]


class TestSize:
    def parts(self, stream: bytes, size: int) -> list[bytes]:
        return [stream[i : i + size] for i in range(0, len(stream), size)]

    @pytest.mark.parametrize("size", [1, 2, 7, 1000])
    @pytest.mark.parametrize(
        "stream",
        [
            b"data: " + b"x" * 100 + b"\n\n",
            b"data: " + b"x" * 50 + b"\ndata: " + b"x" * 50 + b"\n\n",
            b"data:\n" * 80 + b"\n",
            b": " + b"x" * 100 + b"\n\n",
            b"x" * 100,
        ],
    )
    def test_an_event_that_is_too_large_is_refused_however_it_is_split(self, stream: bytes, size: int) -> None:
        with pytest.raises(ValueError, match="larger than 64 bytes"):
            parsed(self.parts(stream, size), 64)

    @pytest.mark.parametrize("size", [1, 2, 7, 1000])
    def test_many_events_below_the_limit_are_taken_however_large_a_read_is(self, size: int) -> None:
        stream = (b"data: " + b"x" * 58 + b"\n\n") * 50
        assert parsed(self.parts(stream, size), 64) == ["x" * 58] * 50

    def test_what_came_before_the_large_event_is_given(self) -> None:
        events = SseParser(max_event_bytes=64).feed(b"data: a\n\ndata: " + b"x" * 100)
        assert next(events) == "a"
        with pytest.raises(ValueError, match="larger"):
            next(events)
