"""Clients that leave at any moment leave nothing behind; `make faults` does the same with 1,000."""

import asyncio
from pathlib import Path

from tests.faults.disconnects import run

CLIENTS = 200


def test_clients_that_leave_stop_the_model_and_leave_nothing_behind(tmp_path: Path) -> None:
    report = asyncio.run(run(CLIENTS, tmp_path))
    assert report.clients == CLIENTS
    assert len(report.delays_ms) > 20, "some should have left while the model worked for them"
    assert report.leaks() == []
    assert report.ledgers <= CLIENTS + 24
