"""Non-interference: a caller's replies are the same bytes whatever other scopes hold, in every search type.

A sample; `make interference` does 100,000 searches on the embedded store and 10,000 on ArangoDB's protocol server.
"""

from __future__ import annotations

import asyncio

import pytest

from steelyard_contracts.enums import SearchType
from tests.conformance.store.interference import run
from tests.conformance.store.interference_defects import DEFECTS, Plant

SEARCHES = {"embedded": 1_000, "arangodb": 120, "arangodb_live": 120}


def test_no_reply_shows_or_depends_on_what_other_scopes_hold(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = asyncio.run(run(kind, SEARCHES[kind]))
    assert report.leaks == []
    assert report.searches == SEARCHES[kind]
    assert report.kinds.keys() == set(SearchType)
    assert report.shown > 2 * report.searches
    with capsys.disabled():
        print(f"\n{kind}: {report}")


@pytest.mark.parametrize("plant", DEFECTS, ids=lambda plant: plant.__name__)
def test_the_run_sees_a_planted_defect(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    report = asyncio.run(run("embedded", 2_000, stop_at_first=True))
    assert report.leaks, f"nothing contradicts {plant.__name__} in {report.searches} searches"
