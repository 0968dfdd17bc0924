"""Where log lines can not be written, requests are served all the same, and the loss is told once it is over."""

import errno
import io
import json
import logging
import sys

import pytest

from steelyard_runtime import logs
from tests.harness.local_client import local_client

from .sample_service import sample_app


class Disk(io.StringIO):
    """A log file on a disk that may be full; `fault` is what writing to it raises then."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: Exception | None = None

    def write(self, text: str) -> int:
        if self.fault is not None:
            raise self.fault
        return super().write(text)


@pytest.mark.usefixtures("_restored_logging")
@pytest.mark.parametrize(
    "fault", [OSError(errno.ENOSPC, "no space"), BrokenPipeError(), ValueError("I/O operation on closed file")], ids=str
)
def test_a_request_is_worth_more_than_its_line(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    disk = Disk()
    monkeypatch.setattr(sys, "stderr", disk)
    logs.configure("retriever", "info", "policy")
    client = local_client(sample_app(), raise_server_exceptions=False)
    disk.fault = fault
    replies = [client.post("/v1/sample", json={"text": 1}), client.get("/v1/boom"), client.get("/v1/nothing-here")]
    assert [(reply.status_code, reply.json()["code"]) for reply in replies] == [
        (422, "invalid_request"),
        (500, "internal"),
        (404, "not_found"),
    ]
    logging.getLogger("asyncio").error("a library's line")
    assert disk.getvalue() == ""
    disk.fault = None
    for _ in range(2):
        logs.get().info("written")
    lines = [json.loads(line) for line in disk.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["log_lines_lost", "written", "written"]
    assert lines[0]["at_most"] >= len(replies) + 1
    assert lines[0]["service"] == "retriever"
