"""A deletion wins over a file that is on its way, wherever that is, and one that fails takes nothing back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from steelyard_contracts.embeddings import EmbeddingResponse
from steelyard_contracts.enums import FileStatus
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_dataprep.identity import document_id
from steelyard_dataprep.ingestion import Source
from steelyard_store.embedded import EmbeddedWriter
from steelyard_store.errors import StoreBusy, StoreFull

from .ingestion_bench import TEXT, Bench

pytestmark = pytest.mark.anyio


async def test_a_deletion_that_comes_while_a_file_is_embedded_wins(bench: Bench) -> None:
    await bench.take_in("notes.md", TEXT.encode())
    embed = bench.embedding.post

    async def delete_meanwhile(*call: Any, **options: Any) -> EmbeddingResponse:
        assert len(await bench.catalogue.delete("notes.md", None)) == 1
        return await embed(*call, **options)

    bench.embedding.post = delete_meanwhile  # type: ignore[method-assign]
    result = await bench.take_in("notes.md", b"# Seals\n\nThe seal is ZQ-78.\n")
    assert result.error is not None
    assert result.error.code is ErrorCode.DELETED_MEANWHILE
    assert await bench.texts() == []
    bench.embedding.post = embed  # type: ignore[method-assign]
    assert (await bench.take_in("notes.md", TEXT.encode())).status is FileStatus.PUBLISHED


async def test_a_deletion_reaches_a_file_that_waits_for_its_turn_and_was_never_published(bench: Bench) -> None:
    await bench.ingestion.prepare()
    intake = await bench.accept("größe.md")
    # The other spelling of the same name, as another file system would send it.
    assert await bench.catalogue.delete("gro\u0308ße.md", None) == [intake.document_id]
    result = await bench.ingestion.take_in(Source("größe.md", TEXT.encode(), "public"), intake)
    assert result.error is not None
    assert result.error.code is ErrorCode.DELETED_MEANWHILE
    assert bench.embedding.batches == []
    bench.ingestion.finish(intake)
    with pytest.raises(SteelyardError) as caught:
        await bench.catalogue.delete("größe.md", None)
    assert caught.value.code is ErrorCode.NOT_FOUND


async def test_a_deletion_by_another_process_reaches_a_file_that_waits(bench: Bench, tmp_path: Path) -> None:
    known = await bench.take_in("notes.md", TEXT.encode())
    assert known.document_id is not None
    waiting, other = await bench.accept("notes.md"), await bench.accept("other.md")
    async with EmbeddedWriter(tmp_path / "store.db") as elsewhere:
        assert await elsewhere.delete(known.document_id)
    result = await bench.ingestion.take_in(Source("notes.md", TEXT.encode(), "public"), waiting)
    assert result.error is not None
    assert result.error.code is ErrorCode.DELETED_MEANWHILE
    # What comes after the deletion, and other documents, are no concern of it.
    result = await bench.ingestion.take_in(Source("other.md", TEXT.encode(), "public"), other)
    assert result.status is FileStatus.PUBLISHED
    assert (await bench.take_in("notes.md", TEXT.encode())).status is FileStatus.PUBLISHED


async def test_a_file_that_can_not_be_registered_is_forgotten(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_ids: Sequence[str]) -> dict[str, int]:
        raise StoreBusy("locked")

    monkeypatch.setattr(bench.writer, "deletions", fail)
    with pytest.raises(StoreBusy):
        await bench.accept("notes.md")
    async with bench.intakes.deleting(document_id("public", "notes.md")) as on_its_way:
        assert not on_its_way


async def test_a_deletion_that_fails_withdraws_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_args: Any, **_options: Any) -> bool:
        raise StoreFull("no space is left")

    await bench.ingestion.prepare()
    intake = await bench.accept("notes.md")
    monkeypatch.setattr(bench.writer, "delete", full)
    with pytest.raises(StoreFull):
        await bench.catalogue.delete("notes.md", None)
    result = await bench.ingestion.take_in(Source("notes.md", TEXT.encode(), "public"), intake)
    assert result.status is FileStatus.PUBLISHED
