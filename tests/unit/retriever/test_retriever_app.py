"""The retriever's start: what it has in memory before anybody may search."""

from pathlib import Path

import pytest

from steelyard_retriever.app import build
from steelyard_retriever.settings import RetrieverSettings
from steelyard_store.embedded import EmbeddedReader
from steelyard_store.errors import StoreUnavailable
from tests.harness.local_client import local_client


def settings(folder: Path) -> RetrieverSettings:
    return RetrieverSettings(
        store_path=folder / "store.db",
        embedding_url="http://127.0.0.1:9",
        reranker_url="http://127.0.0.1:9",
    )


@pytest.mark.parametrize("fault", [None, StoreUnavailable("locked")])
def test_the_vectors_are_loaded_before_the_first_look_and_a_store_that_fails_does_not_end_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception | None
) -> None:
    called: list[str] = []

    async def warm(_self: EmbeddedReader) -> None:
        called.append("warm")
        if fault is not None:
            raise fault

    async def check(_self: EmbeddedReader) -> None:
        called.append("check")
        raise StoreUnavailable("nothing here")

    monkeypatch.setattr(EmbeddedReader, "warm", warm)
    monkeypatch.setattr(EmbeddedReader, "check", check)
    with local_client(build(settings(tmp_path))) as client:
        assert client.get("/ready").status_code == 503
        assert called[:2] == ["warm", "check"]
