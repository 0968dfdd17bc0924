"""A running protocol server and each of the two drivers on it."""

from collections.abc import Callable, Iterator

import pytest
from arango.exceptions import ArangoServerError
from arangoasync.exceptions import ArangoServerError as AsyncArangoServerError

from tests.arangosim import ArangoSim
from tests.unit.arangosim.drivers import AsyncDriver, Driver, SyncDriver

Connect = Callable[..., Driver]
Refused = Callable[[Callable[[], object]], tuple[int | None, int | None]]


@pytest.fixture
def sim() -> Iterator[ArangoSim]:
    with ArangoSim() as running:
        yield running


@pytest.fixture(params=[SyncDriver, AsyncDriver], ids=["sync", "async"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Opens connections of one driver and closes them at the end."""
    opened: list[Driver] = []

    def open_one(*arguments: object, **options: object) -> Driver:
        opened.append(request.param(*arguments, **options))
        return opened[-1]

    yield open_one
    for driver in opened:
        driver.close()


@pytest.fixture
def driver(sim: ArangoSim, connect: Connect) -> Driver:
    return connect(sim)


@pytest.fixture
def refused() -> Refused:
    """(error number, HTTP status) of the refusal that a call must meet."""

    def call(action: Callable[[], object]) -> tuple[int | None, int | None]:
        with pytest.raises((ArangoServerError, AsyncArangoServerError)) as caught:
            action()
        return caught.value.error_code, caught.value.http_code

    return call
