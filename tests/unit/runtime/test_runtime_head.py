"""HEAD, which monitoring and proxies send, is answered as GET is, without its body."""

import http.client
from collections.abc import Iterator
from contextlib import closing

import pytest

from .conftest import Address, serving
from .sample_service import sample_app


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with serving(sample_app()) as running:
        yield running


@pytest.mark.parametrize(("path", "status"), [("/live", 200), ("/v1/items/1", 200), ("/v1/nothing-here", 404)])
def test_the_head_of_what_can_be_read_is_that_of_reading_it(address: Address, path: str, status: int) -> None:
    with closing(http.client.HTTPConnection(address.host, address.port, timeout=20)) as connection:
        connection.request("HEAD", path)
        head = connection.getresponse()
        assert (head.status, head.read()) == (status, b"")
        # The connection goes on: nothing of a body was left on it.
        connection.request("GET", path)
        whole = connection.getresponse()
        body = whole.read()
    assert whole.status == status
    assert head.headers["content-length"] == whole.headers["content-length"] == str(len(body))


def test_what_can_only_be_sent_has_no_head(address: Address) -> None:
    with closing(http.client.HTTPConnection(address.host, address.port, timeout=20)) as connection:
        connection.request("HEAD", "/v1/sample")
        assert connection.getresponse().status == 405
