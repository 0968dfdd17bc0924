"""Measures ingestion: documents and chunks per CPU second by format, memory over many documents, and real corpora.

    python -m tests.bench.ingestion_bench formats
    python -m tests.bench.ingestion_bench memory --documents 10000
    python -m tests.bench.ingestion_bench corpora --folder ../shared/data/chunking_eval/corpora

`formats` parses and cuts without a service, in processes as the service starts them; `memory` runs `steelyard ingest`
against a real dataprep whose embedding service is a double; `corpora` runs it against the real local embedder.
"""

import argparse
import asyncio
import io
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import docx
from reportlab.pdfgen.canvas import Canvas

from steelyard_dataprep.parsing import ParseLimits, parse
from steelyard_dataprep.preparation.isolation import IsolatedParser
from steelyard_dataprep.preparation.prepared import ChunkSize, PreparedDocument, prepare
from steelyard_models.cache import locate
from steelyard_models.tokenizer import TextTokenizer
from steelyard_store.embedded import EmbeddedReader
from steelyard_store.records import Filter
from tests.faults.ingestion_embedder import EmbedderDouble
from tests.harness.processes import ServiceProcess, start, wait_ready

PARAGRAPHS = 40
SIZE = ChunkSize(200, 0)
_WORDS = ("balance", "load", "weight", "beam", "pivot", "counterpoise", "is", "the", "of", "a", "seal", "torque")


def paragraphs(rng: random.Random) -> list[str]:
    """About 20 kB of text, which no other document has."""
    return [" ".join(rng.choices(_WORDS, k=90)) + "." for _ in range(PARAGRAPHS)]


def as_markdown(texts: list[str]) -> bytes:
    return "\n\n".join(f"## Part {n}\n\n{text}" if n % 8 == 0 else text for n, text in enumerate(texts)).encode()


def as_html(texts: list[str]) -> bytes:
    return ("<!doctype html><title>T</title>" + "".join(f"<p>{text}" for text in texts)).encode()


def as_pdf(texts: list[str]) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    for first in range(0, len(texts), 5):
        row = 800
        for text in texts[first : first + 5]:
            for start_at in range(0, len(text), 90):
                canvas.drawString(40, row, text[start_at : start_at + 90])
                row -= 14
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def as_docx(texts: list[str]) -> bytes:
    buffer = io.BytesIO()
    document = docx.Document()
    for text in texts:
        document.add_paragraph(text)
    document.save(buffer)
    return buffer.getvalue()


def as_csv(texts: list[str]) -> bytes:
    return ("id,text\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts))).encode()


def as_jsonl(texts: list[str]) -> bytes:
    return "".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts)).encode()


def as_email(texts: list[str]) -> bytes:
    return b"Subject: s\r\nFrom: f@example.org\r\n\r\n" + "\r\n\r\n".join(texts).encode()


FORMATS: dict[str, Callable[[list[str]], bytes]] = {
    "txt": lambda texts: "\n\n".join(texts).encode(),
    "md": as_markdown,
    "html": as_html,
    "pdf": as_pdf,
    "docx": as_docx,
    "csv": as_csv,
    "jsonl": as_jsonl,
    "eml": as_email,
}


async def prepared(files: dict[str, bytes], tokenizer: Path) -> tuple[list[PreparedDocument], float]:
    """The documents, and the CPU seconds of this process and of all parser processes; a first file is not counted."""
    async with IsolatedParser(tokenizer, SIZE, ParseLimits()) as parser:
        await parser.prepare(*next(iter(files.items())))
        started = _cpu_with_children()
        documents = [await parser.prepare(name, data) for name, data in files.items()]
        return documents, _cpu_with_children() - started


def _cpu_with_children() -> float:
    """CPU seconds of this process and its running children, and of what these have waited for."""
    return time.process_time() + sum(map(_cpu_of, children(os.getpid())))


def children(pid: int) -> list[int]:
    """The processes that a process has started and not waited for yet."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def formats(documents: int) -> None:
    """Print, for each format, documents and chunks per CPU second, and what the process of its own costs of it."""
    tokenizer = TextTokenizer(locate("all-minilm-l6-v2"))
    print(f"{documents} documents of about 20 kB text each; CPU seconds of one core")
    print(f"{'format':8}{'kB/file':>9}{'docs/s':>9}{'chunks/s':>10}{'ms/doc':>9}{'in one process':>16}")
    for suffix, build in FORMATS.items():
        files = {f"{n}.{suffix}": build(paragraphs(random.Random(n))) for n in range(documents)}
        made, spent = asyncio.run(prepared(files, tokenizer.path))
        started = time.process_time()
        for name, data in files.items():
            prepare(parse(name, data), tokenizer.count, SIZE)
        here = time.process_time() - started
        size = sum(map(len, files.values())) / documents / 1000
        chunks = sum(len(one.chunks) for one in made)
        print(
            f"{suffix:8}{size:9.1f}{documents / spent:9.1f}{chunks / spent:10.1f}"
            f"{1000 * spent / documents:9.1f}{1000 * here / documents:13.1f} ms",
            flush=True,
        )


def resident_mib(pid: int) -> float:
    """Resident memory of a process, in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def ingest(service: ServiceProcess, folder: Path) -> "subprocess.Popen[str]":
    """`steelyard ingest FOLDER --json` as a process."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("STEELYARD_")}
    return subprocess.Popen(
        [sys.executable, "-m", "steelyard_cli", "ingest", str(folder), "--json", "--url", service.url],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def memory(documents: int) -> None:
    """Print the memory of service and command while many documents are taken in, and the time of a second run."""
    embedder = EmbedderDouble().start()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "documents"
        for number in range(documents):
            path = folder / f"{number % 100}" / f"{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n\n".join(paragraphs(random.Random(number))[:4]), encoding="utf-8")
        service = start("dataprep", {"STORE_PATH": f"{scratch}/store.db", "EMBEDDING_URL": embedder.url})
        try:
            wait_ready(service)
            print(f"{documents} documents of 2 kB; memory in MiB; {time.strftime('%Y-%m-%d')}")
            print(f"load at the beginning {os.getloadavg()[0]:.0f}")
            print(f"{'done':>8}{'dataprep':>10}{'fork server':>13}{'command':>9}{'docs/s':>8}")
            for title in ("first run", "second run, all unchanged"):
                started = time.monotonic()
                process = ingest(service, folder)
                assert process.stdout is not None
                done = 0
                for line in process.stdout:
                    done += '"event": "file"' in line
                    if '"event": "file"' in line and done % max(1, documents // 10) == 0:
                        rate = done / (time.monotonic() - started)
                        print(
                            f"{done:8}{resident_mib(service.process.pid):10.1f}"
                            f"{sum(map(resident_mib, children(service.process.pid))):13.1f}"
                            f"{resident_mib(process.pid):9.1f}{rate:8.1f}",
                            flush=True,
                        )
                print(f"{title}: exit {process.wait()}, {time.monotonic() - started:.0f} s", flush=True)
            print(f"load at the end {os.getloadavg()[0]:.0f}")
            print(f"store: {sum(file.stat().st_size for file in Path(scratch).glob('store.db*')) / 2**20:.0f} MiB")
        finally:
            service.stop()
            embedder.stop()


def corpora(folder: Path) -> None:
    """Print what becomes of each file of a folder with the real local embedder, and the rate of it all."""
    with tempfile.TemporaryDirectory() as scratch:
        common = {"STORE_PATH": f"{scratch}/store.db"}
        embedding = start("embedding", common)
        service = start("dataprep", {**common, "EMBEDDING_URL": embedding.url})
        try:
            wait_ready(embedding)
            wait_ready(service)
            started = time.monotonic()
            process = ingest(service, folder)
            assert process.stdout is not None
            for line in process.stdout:
                event = json.loads(line)
                spent = time.monotonic() - started
                if event["event"] == "file":
                    print(
                        f"{event['name']:28}{event['size'] / 1000:9.1f} kB {event['chunks']:6} chunks"
                        f"{event['tokens']:8} tokens  {event['status']}  at {spent:6.1f} s",
                        flush=True,
                    )
            process.wait()
            seen, wrong = asyncio.run(unsound(Path(scratch) / "store.db"))
            print(f"{seen} chunks in the store, {len(wrong)} of them unsound", *wrong, sep="\n  ")
            totals = event["totals"]
            processes = [embedding.process.pid, service.process.pid, *children(service.process.pid)]
            cpu = sum(map(_cpu_of, processes))
            print(
                f"{totals['chunks']} chunks, {totals['tokens']} tokens in {spent:.1f} s:"
                f" {totals['chunks'] / spent:.1f} chunks/s; {cpu:.1f} CPU s of embedding and dataprep"
                f" (their starts included), {totals['chunks'] / cpu:.1f} chunks per CPU s"
            )
        finally:
            service.stop()
            embedding.stop()


async def unsound(store: Path) -> tuple[int, list[str]]:
    """How many chunks a store holds, and those that are not their span of the text or longer than they may be."""
    tokenizer = TextTokenizer(locate("all-minilm-l6-v2"))
    public = Filter(["public"])
    found: list[str] = []
    seen = 0
    async with EmbeddedReader(store) as reader:
        for one in (await reader.documents(public, limit=1000)).documents:
            document = await reader.document(one.document_id, public)
            assert document is not None
            chunks = await reader.document_chunks(one.document_id, public)
            seen += len(chunks)
            for chunk, tokens in zip(chunks, tokenizer.count_many([chunk.text for chunk in chunks]), strict=True):
                span = document.text[chunk.char_start : chunk.char_end]
                if span != chunk.text or tokens != chunk.tokens or tokens > SIZE.max_tokens:
                    found.append(f"chunk {chunk.ordinal} of {one.source}: {tokens} tokens, {chunk.tokens} stored")
    return seen, found


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # Its own and that of the children which it has waited for.
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run one measurement, or formats and a short memory run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="formats", choices=("formats", "memory", "corpora"))
    parser.add_argument("--documents", type=int, help="how many documents (formats: 20, memory: 10000)")
    parser.add_argument("--folder", type=Path, help="the folder that `corpora` takes in")
    options = parser.parse_args()
    if options.what == "formats":
        formats(options.documents or 20)
    elif options.what == "memory":
        memory(options.documents or 10_000)
    elif options.folder is None:
        parser.error("corpora needs --folder")
    else:
        corpora(options.folder)


if __name__ == "__main__":
    main()
