from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.conformance.store.harness import STORES, LiveArangoUnderTest, Opened, StoreUnderTest, local_server
from tests.conformance.store.samples import MODEL


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# Without a live server the suite does not run against one, and `test_conformance_store_live.py` says so, once.
_KINDS = [
    pytest.param(kind, marks=[pytest.mark.real_arango] if kind.endswith("_live") else [])
    for kind in STORES
    if not kind.endswith("_live") or "ARANGO_URL" in os.environ
]


@pytest.fixture(scope="session", autouse=True)
def servers() -> Iterator[None]:
    yield
    LiveArangoUnderTest.clean_up()
    if local_server.cache_info().currsize:
        local_server().close()


@pytest.fixture(params=_KINDS)
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
