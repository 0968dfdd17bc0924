"""Taking in one file: nothing is published unless all of it is, and every fault is a rejected result that says why."""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard_contracts.embeddings import EmbeddingData
from steelyard_contracts.enums import FileStatus, Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_dataprep.embedding import MeasureMismatchError
from steelyard_dataprep.identity import content_hash
from steelyard_dataprep.parsing import ParseError, ParseLimits
from steelyard_dataprep.parsing.errors import (
    ParserCrashedError,
    ParserMemoryError,
    ParserStarvedError,
    ParserTimeoutError,
)
from steelyard_dataprep.quarantine import Quarantine
from steelyard_store.errors import StoreFull, StoreNotInitialised
from steelyard_store.records import Chunk, Filter
from steelyard_store.tree import Node

from .ingestion_bench import DIMENSION, TEXT, Bench, vector_of

pytestmark = pytest.mark.anyio


async def test_a_file_is_published_with_exact_spans_and_its_own_vectors(bench: Bench) -> None:
    result = await bench.take_in("notes.md", TEXT.encode())
    assert (result.status, result.chunks) == (FileStatus.PUBLISHED, 2)
    assert result.document_id is not None
    document = await bench.reader.document(result.document_id, Filter(["public"]))
    chunks = await bench.reader.document_chunks(result.document_id, Filter(["public"]))
    assert document is not None
    vectors = await bench.reader.embeddings([chunk.chunk_id for chunk in chunks], Filter(["public"]))
    for chunk in chunks:
        assert document.text[chunk.char_start : chunk.char_end] == chunk.text
        assert vectors[chunk.chunk_id] == pytest.approx(np.array(vector_of(chunk.text), dtype=np.float32))
    assert [chunk.section for chunk in chunks] == ["Seals", "Bolts"]


async def test_a_file_is_published_with_its_tree_and_the_vectors_of_its_abstracts(bench: Bench) -> None:
    await bench.take_in("notes.md", TEXT.encode())
    everyone = Filter(["public"])
    query = vector_of("Seals\nThe seal is ZQ-77.")
    nearest, *others = await bench.reader.search_tree(query, 10, everyone)
    assert isinstance(nearest.entry, Node)
    assert (nearest.entry.title, nearest.entry.abstract) == ("Seals", "The seal is ZQ-77.")
    assert nearest.score == pytest.approx(1.0)
    assert {hit.entry.title for hit in others} == {"Seals", "Bolts"}
    (below,) = await bench.reader.children(query, [nearest.entry_id], 10, everyone)
    assert isinstance(below.entry, Chunk)
    assert (below.entry.section, below.entry.parent_id) == ("Seals", nearest.entry_id)


async def test_equal_texts_stay_chunks_of_their_own(bench: Bench) -> None:
    twice = "# A\n\nRead the manual first.\n\n# A\n\nRead the manual first.\n"
    result = await bench.take_in("twice.md", twice.encode())
    assert result.chunks == 2
    assert len(await bench.texts()) == 2


async def test_the_same_bytes_again_parse_and_embed_nothing(bench: Bench) -> None:
    first = await bench.take_in("notes.md", TEXT.encode())
    bench.embedding.batches.clear()
    second = await bench.take_in("notes.md", TEXT.encode())
    assert second.status is FileStatus.UNCHANGED
    assert (second.document_id, second.revision, second.chunks, second.tokens) == (
        first.document_id,
        first.revision,
        first.chunks,
        first.tokens,
    )
    assert bench.embedding.batches == []


async def test_other_chunk_sizes_make_another_revision(tmp_path: Path) -> None:
    small, large = Bench(tmp_path / "store.db", 40), Bench(tmp_path / "store.db", 50)
    try:
        first = await small.take_in("notes.md", TEXT.encode())
        second = await large.take_in("notes.md", TEXT.encode())
    finally:
        await small.close()
        await large.close()
    assert second.status is FileStatus.REPLACED
    assert first.document_id == second.document_id
    assert first.revision != second.revision


async def test_many_chunks_go_in_batches_and_come_back_in_order(bench: Bench) -> None:
    text = "\n\n".join(f"# Part {number}\n\nValue {number} is {number * 7}." for number in range(75))
    result = await bench.take_in("parts.md", text.encode())
    assert result.chunks == 75
    texts = [text for batch in bench.embedding.batches for text in batch]
    assert [len(batch) for batch in bench.embedding.batches] == [32, 32, 32, 32, 23]
    assert texts[:75] == await bench.texts()


def _one_short(data: Sequence[EmbeddingData]) -> list[EmbeddingData]:
    return list(data[:-1])


def _turned_round(data: Sequence[EmbeddingData]) -> list[EmbeddingData]:
    return list(reversed(data))


def _wrong_dimension(data: Iterable[EmbeddingData]) -> list[EmbeddingData]:
    return [EmbeddingData(index=one.index, embedding=[1.0, 2.0]) for one in data]


def _zero(data: Iterable[EmbeddingData]) -> list[EmbeddingData]:
    return [EmbeddingData(index=one.index, embedding=[0.0] * DIMENSION) for one in data]


def _no_base64(data: Iterable[EmbeddingData]) -> list[EmbeddingData]:
    return [EmbeddingData(index=one.index, embedding="?") for one in data]


@pytest.mark.parametrize("spoil", [_one_short, _turned_round, _wrong_dimension, _zero, _no_base64])
async def test_vectors_that_do_not_fit_publish_nothing(bench: Bench, spoil: Any) -> None:
    bench.embedding.spoil = spoil
    result = await bench.take_in("notes.md", TEXT.encode())
    assert result.status is FileStatus.REJECTED
    assert result.error is not None
    assert result.error.code is ErrorCode.UPSTREAM_BAD_REPLY
    assert await bench.texts() == []


async def test_an_unreachable_embedding_service_is_named(bench: Bench) -> None:
    async def unreachable(_path: str, _timeout_s: float) -> Any:
        raise UpstreamError(ErrorCode.UPSTREAM_UNREACHABLE, "embedding can not be reached", stage=Stage.EMBEDDING)

    bench.embedding.get_json = unreachable  # type: ignore[method-assign]
    result = await bench.take_in("notes.md", TEXT.encode())
    assert result.error is not None
    assert result.error.code is ErrorCode.UPSTREAM_UNREACHABLE


async def test_a_full_disk_is_not_acknowledged(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_args: Any, **_options: Any) -> Any:
        raise StoreFull("no space is left")

    monkeypatch.setattr(bench.writer, "publish", full)
    result = await bench.take_in("notes.md", TEXT.encode())
    assert result.error is not None
    assert result.error.code is ErrorCode.STORE_UNAVAILABLE
    monkeypatch.undo()
    assert (await bench.take_in("notes.md", TEXT.encode())).status is FileStatus.PUBLISHED


async def test_a_store_of_another_model_is_refused_by_name(bench: Bench) -> None:
    await bench.take_in("notes.md", TEXT.encode())
    bench.embedding.model = {**bench.embedding.model, "id": "other", "revision": "2"}
    result = await bench.take_in("more.md", TEXT.encode())
    assert result.error is not None
    assert result.error.code is ErrorCode.STORE_UNAVAILABLE
    assert "other@2" in result.error.detail


async def test_a_parse_error_keeps_its_code(bench: Bench) -> None:
    result = await bench.take_in("broken.pdf", b"%PDF-1.7 broken")
    assert result.error is not None
    assert result.error.code is ErrorCode.CORRUPT_DOCUMENT


async def test_a_table_is_read_by_the_column_that_was_chosen(bench: Bench) -> None:
    table = b"id,words\n1,The seal is ZQ-77.\n"
    assert (await bench.take_in("table.csv", table)).status is FileStatus.PUBLISHED
    assert await bench.texts() == ["id: 1\nwords: The seal is ZQ-77."]
    # Another column is another content of the same document.
    assert (await bench.take_in("table.csv", table, "words")).status is FileStatus.REPLACED
    assert await bench.texts() == ["The seal is ZQ-77."]
    refused = await bench.take_in("table.csv", table, "absent")
    assert refused.error is not None
    assert refused.error.code is ErrorCode.MISSING_COLUMN


async def test_what_crashes_its_parser_twice_is_not_tried_again(bench: Bench, tmp_path: Path) -> None:
    bench.parser.error = ParserCrashedError("a.md", "Segmentation fault")
    codes = []
    for name in ("a.md", "a.md", "the same under another name.md"):
        result = await bench.take_in(name, TEXT.encode())
        assert result.error is not None
        codes.append(result.error.code)
        assert "Segmentation fault" in result.error.detail
    assert codes == [ErrorCode.PARSER_CRASHED, ErrorCode.QUARANTINED, ErrorCode.QUARANTINED]
    assert bench.parser.started == 2
    # A restart does not forget; a parser with more memory is given a chance.
    assert Quarantine(tmp_path / "quarantine", ParseLimits()).holds(content_hash(TEXT.encode()))
    assert not Quarantine(tmp_path / "quarantine", ParseLimits(memory_bytes=2**40)).holds(content_hash(TEXT.encode()))
    bench.parser.error = None
    assert (await bench.take_in("other.md", b"# Other\n\nAnother content.\n")).status is FileStatus.PUBLISHED


@pytest.mark.parametrize("error", [ParserTimeoutError("a.md", "CPU time"), ParserMemoryError("a.md", "memory")])
async def test_a_limit_that_is_reached_is_not_tried_again_at_once(bench: Bench, error: ParseError) -> None:
    bench.parser.error = error
    faults = [(await bench.take_in("a.md", TEXT.encode())).error for _ in range(3)]
    assert [fault.code for fault in faults if fault is not None] == [error.code, error.code, ErrorCode.QUARANTINED]
    assert bench.parser.started == 2


async def test_a_busy_machine_puts_nothing_into_quarantine(bench: Bench) -> None:
    bench.parser.error = ParserStarvedError("a.md", "was not done")
    for _ in range(3):
        fault = (await bench.take_in("a.md", TEXT.encode())).error
        assert fault is not None
        assert fault.code is ErrorCode.PARSER_STARVED
    bench.parser.error = None
    assert (await bench.take_in("a.md", TEXT.encode())).status is FileStatus.PUBLISHED


async def test_one_crash_costs_nothing_but_a_second_try(bench: Bench) -> None:
    bench.parser.error, bench.parser.times = ParserCrashedError("a.md", "Killed"), 1
    assert (await bench.take_in("a.md", TEXT.encode())).status is FileStatus.PUBLISHED


async def test_chunks_that_the_embedding_service_would_not_read_whole_are_not_cut(bench: Bench) -> None:
    bench.embedding.max_tokens = 42
    await bench.ingestion.prepare()
    bench.embedding.max_tokens = 41
    result = await bench.take_in("a.txt", b"Some words.")
    assert result.error is not None
    assert result.error.code is ErrorCode.NOT_READY
    assert "fake reads 41; lower CHUNK_MAX_TOKENS by 1" in result.error.detail
    assert bench.embedding.batches == []


async def test_chunks_are_not_cut_by_another_tokenizer_than_the_embedding_services(bench: Bench) -> None:
    bench.embedding.model = {**bench.embedding.model, "tokenizer": "letters"}
    with pytest.raises(MeasureMismatchError, match=r"\(letters\) than dataprep \(words\)"):
        await bench.ingestion.prepare()


@pytest.mark.parametrize("limit", [None, "many"])
async def test_an_embedding_service_that_names_no_limit_yet_gets_nothing(bench: Bench, limit: Any) -> None:
    bench.embedding.max_tokens = limit
    with pytest.raises(UpstreamError, match="does not say how it measures texts"):
        await bench.ingestion.prepare()


async def test_a_store_that_is_taken_away_is_missed_and_not_begun_anew(bench: Bench, tmp_path: Path) -> None:
    """An empty store in its place would answer every question with `no evidence`."""
    assert (await bench.take_in("a.md", TEXT.encode())).status is FileStatus.PUBLISHED
    store, saved = tmp_path / "store.db", tmp_path / "saved"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("VACUUM INTO ?", (str(saved),))
    for suffix in ("", "-wal", "-shm"):
        store.with_name(f"store.db{suffix}").unlink()
    with pytest.raises(StoreNotInitialised, match=r"there is no store at .*, and there was one: restore it"):
        await bench.ingestion.prepare()
    missed = (await bench.take_in("b.md", TEXT.encode())).error
    assert missed is not None
    assert missed.code is ErrorCode.STORE_UNAVAILABLE
    assert not store.exists()
    store.touch()
    with pytest.raises(StoreNotInitialised, match="it has not been initialised, and there was one"):
        await bench.ingestion.prepare()
    saved.replace(store)
    await bench.ingestion.prepare()
    assert len(await bench.texts()) == 2
