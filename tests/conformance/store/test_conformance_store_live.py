"""Whether the suite ran against a live ArangoDB server; nothing else in this suite says that it did not."""

from __future__ import annotations

import os

import pytest

from tests.conformance.store.harness import LiveArangoUnderTest
from tests.conformance.store.samples import MODEL


@pytest.mark.real_arango
@pytest.mark.anyio
async def test_the_suite_runs_against_the_live_server(tmp_path) -> None:
    if "ARANGO_URL" not in os.environ:
        pytest.skip("ARANGO_URL is not set: the store was tested against the local protocol server only")
    place = LiveArangoUnderTest.fresh(tmp_path)
    writer = place.writer()
    assert (await writer.initialise(MODEL)).model == MODEL
    await writer.close()
