"""The running gateway that `tests.clients` starts, whose packages these tests can not import."""

import os

import pytest


@pytest.fixture
def base_url() -> str:
    """The address of the gateway's OpenAI surface."""
    return os.environ["STEELYARD_CLIENTS_URL"]
