"""One stack of real services for the pages, with a model's double; without a browser the tests say why they skip."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from tests.harness.stack import Stack, start_stack

from .devtools import BINARIES, Page, binary, chromium

HANDBOOK = """# Pump AX-104

## Seals

The approved seal for AX-104-B is ZQ-77. It must not be used with chlorinated solvents.

## Torque

The cover bolts are tightened to 35 Nm in two passes.
"""
HOSTILE_NAME = "<img src=x onerror=alert(1)>.md"
HOSTILE = '<script>alert(2)</script> The filter of "><svg onload=alert(3)> is replaced every 90 days.'


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    if binary() is None:
        pytest.skip(f"the pages are not tested: no browser is installed ({', '.join(BINARIES)})")
    running = start_stack(tmp_path_factory.mktemp("stack"))
    try:
        reply = running.ingest(("handbook.md", HANDBOOK.encode()), (HOSTILE_NAME, HOSTILE.encode()))
        assert reply.status_code == 200, reply.text
        yield running
    finally:
        running.stop()


@pytest.fixture(autouse=True)
def _undisturbed(stack: Stack) -> None:
    stack.llm.reset()


@pytest.fixture
def visit() -> Callable[[Callable[[Page], Awaitable[Any]]], Any]:
    """Run a visit in a browser of its own; the pages must not have made it complain."""

    def run(work: Callable[[Page], Awaitable[Any]], *expected: str) -> Any:
        async def main() -> Any:
            async with chromium() as page:
                outcome = await work(page)
                unexpected = [one for one in page.complaints if not any(words in one for words in expected)]
                assert unexpected == []
                return outcome

        return asyncio.run(main())

    return run
