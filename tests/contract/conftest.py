"""One stack of real services for all contract tests; they differ only in what they ingest and ask."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.keyed_gateway import Door
from tests.harness.stack import Stack, start_stack

HANDBOOK = """# Pump AX-104

## Seals

The approved seal for AX-104-B is ZQ-77. It must not be used with chlorinated solvents.

## Torque

The cover bolts are tightened to 35 Nm in two passes.

## Lubrication

Use grease LG-2 every 500 operating hours.
"""

BULLETIN = """# Bulletin 12

The approved seal for AX-104-B is ZQ-77. This notice repeats the handbook.

# Storage

Spare diaphragms are stored flat, dark and dry for at most 24 months.
"""


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Five real services; two documents are published."""
    folder: Path = tmp_path_factory.mktemp("stack")
    running = start_stack(folder, STEELYARD_SCOPES="public,internal")
    try:
        reply = running.ingest(("handbook.md", HANDBOOK.encode()), ("bulletin.md", BULLETIN.encode()))
        assert reply.status_code == 200, reply.text
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def door(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """The gateway with keys."""
    made = Door(stack, tmp_path_factory.mktemp("door"))
    try:
        yield made
    finally:
        made.gateway.stop()


@pytest.fixture(autouse=True)
def _undisturbed(stack: Stack) -> None:
    """Every test starts with a model and a proxy that behave."""
    stack.llm.reset()
    stack.retriever_proxy.rewrite = None
    stack.retriever_proxy.paths.clear()
