"""Taking in one file: nothing is published unless all of it is, and every fault is a rejected result that says why."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard_contracts.dataprep import FileResult
from steelyard_contracts.documents import TokenUsage
from steelyard_contracts.embeddings import EmbeddingData, EmbeddingRequest, EmbeddingResponse
from steelyard_contracts.enums import FileStatus, Stage
from steelyard_contracts.errors import ErrorCode, SteelyardError, UpstreamError
from steelyard_contracts.vectors import Vector
from steelyard_dataprep.catalogue import Catalogue
from steelyard_dataprep.embedding import ChunkMeasure, MeasureMismatchError
from steelyard_dataprep.identity import content_hash, document_id
from steelyard_dataprep.ingestion import Ingestion, Source
from steelyard_dataprep.intakes import Intake, Intakes
from steelyard_dataprep.parsing import ParseError, ParseLimits, parse
from steelyard_dataprep.parsing.errors import (
    ParserCrashedError,
    ParserMemoryError,
    ParserStarvedError,
    ParserTimeoutError,
)
from steelyard_dataprep.preparation.prepared import ChunkSize, PreparedDocument, prepare
from steelyard_dataprep.quarantine import Quarantine
from steelyard_runtime.blocking import Workers
from steelyard_store.embedded import EmbeddedReader, EmbeddedWriter
from steelyard_store.errors import StoreBusy, StoreFull
from steelyard_store.records import Chunk, Filter
from steelyard_store.tree import Node

pytestmark = pytest.mark.anyio

DIMENSION = 8
TEXT = "# Seals\n\nThe seal is ZQ-77.\n\n# Bolts\n\nThe bolts take 24 Nm.\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def vector_of(text: str) -> list[float]:
    """A unit-free vector that depends on the text alone."""
    return np.random.default_rng(len(text) * 1000 + sum(map(ord, text)) % 997).normal(size=DIMENSION).tolist()


class FakeEmbedding:
    """The embedding service as ingestion sees it; `spoil` changes its replies."""

    def __init__(self) -> None:
        self.model = {"id": "fake", "revision": "1", "dimension": DIMENSION, "tokenizer": "words"}
        self.max_tokens: Any = 64
        self.batches: list[list[str]] = []
        self.spoil = lambda data: data

    async def get_json(self, _path: str, _timeout_s: float) -> Any:
        return {"limits": {"max_tokens": self.max_tokens}, "models": {"embedding": self.model}}

    async def post(self, _path: str, request: EmbeddingRequest, _reply: type[EmbeddingResponse]) -> EmbeddingResponse:
        texts = list(request.input)
        self.batches.append(texts)
        data = [
            EmbeddingData(index=i, embedding=Vector.from_floats(vector_of(text)).to_base64())
            for i, text in enumerate(texts)
        ]
        return EmbeddingResponse(model="fake", data=self.spoil(data), usage=TokenUsage(prompt_tokens=0, total_tokens=0))


class InProcess:
    """Prepares files here. `error` is raised instead, as many `times` as it says; `started` counts."""

    def __init__(self, size: ChunkSize) -> None:
        self.size = size
        self.error: ParseError | None = None
        self.times = 1000
        self.started = 0

    async def prepare(self, name: str, data: bytes, *, text_column: str | None = None) -> PreparedDocument:
        self.started += 1
        if self.error is not None and self.started <= self.times:
            raise self.error
        return prepare(parse(name, data, text_column=text_column), lambda text: len(text.split()), self.size)


class Bench:
    """An ingestion over a real store in a folder of its own."""

    def __init__(self, path: Path, max_tokens: int = 40) -> None:
        self.embedding = FakeEmbedding()
        self.reader = EmbeddedReader(path)
        self.writer = EmbeddedWriter(path)
        self.workers = Workers("test", threads=1)
        self.intakes = Intakes()
        self.parser = InProcess(ChunkSize(max_tokens, 0))
        self.ingestion = Ingestion(
            self.reader,
            self.writer,
            self.embedding,  # type: ignore[arg-type]  # it has the two methods that ingestion calls
            self.workers,
            self.parser,
            self.parser.size,
            ChunkMeasure("words", max_tokens + 2),
            self.intakes,
            Quarantine(path.with_name("quarantine"), ParseLimits()),
        )
        self.catalogue = Catalogue(self.reader, self.writer, self.intakes, ("public",))

    async def take_in(
        self, name: str, data: bytes, text_column: str | None = None, read_as: str | None = None
    ) -> FileResult:
        source = Source(name, data, "public", text_column, read_as)
        return await self.ingestion.take_in(source, await self.accept(name))

    async def accept(self, name: str) -> Intake:
        (intake,) = await self.ingestion.accept([name], "public")
        return intake

    async def close(self) -> None:
        await self.reader.close()
        await self.writer.close()
        self.workers.close()

    async def texts(self) -> list[str]:
        listed = (await self.reader.documents(Filter(["public"]))).documents
        found = [await self.reader.document_chunks(one.document_id, Filter(["public"])) for one in listed]
        return [chunk.text for chunks in found for chunk in chunks]


@pytest.fixture
async def bench(tmp_path: Path) -> Any:
    made = Bench(tmp_path / "store.db")
    yield made
    await made.close()


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


async def test_a_deletion_that_comes_while_a_file_is_embedded_wins(bench: Bench) -> None:
    await bench.take_in("notes.md", TEXT.encode())
    embed = bench.embedding.post

    async def delete_meanwhile(*call: Any) -> EmbeddingResponse:
        assert len(await bench.catalogue.delete("notes.md", None)) == 1
        return await embed(*call)

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
