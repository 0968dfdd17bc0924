from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conformance.store.harness import STORES, Opened, StoreUnderTest
from tests.conformance.store.samples import MODEL


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=list(STORES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(kind: str, tmp_path: Path) -> StoreUnderTest:
    return STORES[kind].fresh(tmp_path)


@pytest.fixture
async def store(place: StoreUnderTest) -> AsyncIterator[Opened]:
    opened = Opened(place, place.reader(MODEL), place.writer())
    await opened.writer.initialise(MODEL)
    yield opened
    await opened.reader.close()
    await opened.writer.close()
