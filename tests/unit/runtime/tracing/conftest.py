"""A collector for the tests of traces, and the log as it was before them."""

import logging
from collections.abc import Iterator

import pytest

from tests.harness.otlp_double import OtlpDouble


@pytest.fixture
def collector() -> Iterator[OtlpDouble]:
    double = OtlpDouble().start()
    yield double
    double.stop()


@pytest.fixture(autouse=True)
def _loud_library() -> Iterator[None]:
    """What an export has silenced is heard again by the next test."""
    yield
    logging.getLogger("opentelemetry").setLevel(logging.NOTSET)
