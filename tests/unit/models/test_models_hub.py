import socket
from pathlib import Path

import pytest

from steelyard_models.errors import SourceUnreachableError
from steelyard_models.hub import ANSWER_SECONDS, fetch_url
from tests.unit.models.toy_models import CONTENT, Hub


def test_dead_hub_is_given_up_within_three_seconds() -> None:
    assert ANSWER_SECONDS <= 3


def test_hub_that_accepts_but_never_answers_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/weights.bin"
        with pytest.raises(SourceUnreachableError, match=r"did not answer within 0\.05 s"):
            fetch_url(url, tmp_path / "partial", 10, lambda _: None, answer_seconds=0.05)


def test_complete_partial_asks_nothing(hub: Hub, tmp_path: Path) -> None:
    partial = tmp_path / "partial"
    partial.write_bytes(b"12345")
    fetch_url(hub.url + "weights.bin", partial, 5, lambda _: None)
    assert hub.requests == []


def test_partial_longer_than_the_file_starts_over(hub: Hub, tmp_path: Path) -> None:
    partial = tmp_path / "partial"
    data = CONTENT["weights.bin"]
    partial.write_bytes(data + b"more")
    fetch_url(hub.url + "weights.bin", partial, len(data), lambda _: None)
    assert partial.read_bytes() == data
