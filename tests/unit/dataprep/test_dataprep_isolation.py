import asyncio
import io
import json
import os
import signal
import socket
import sys
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from steelyard_dataprep.parsing import ParsedDocument, ParseError, ParseLimits, isolation, parse
from steelyard_dataprep.parsing.errors import (
    ERRORS_BY_CODE,
    EmptyDocumentError,
    EncryptedOfficeError,
    ParserCrashedError,
    ParserMemoryError,
    ParserTimeoutError,
    TooLargeError,
)
from steelyard_dataprep.parsing.isolation import parse_isolated
from steelyard_dataprep.parsing.wire import decode_reply, encode_reply

MIB = 1024 * 1024


def isolated(name: str, data: bytes, limits: ParseLimits | None = None, **options: str) -> ParsedDocument:
    return asyncio.run(parse_isolated(name, data, limits or ParseLimits(), **options))


def run_instead(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Put another program in the worker's place."""
    monkeypatch.setattr(isolation, "_WORKER", ("-c", program))


def test_gives_what_parsing_here_gives(
    make_pdf: Callable[..., bytes], make_docx: Callable[..., bytes], sample: str
) -> None:
    files = {
        "a.pdf": make_pdf(["Page one"], ["日本語"]),
        "b.docx": make_docx(lambda document: document.add_paragraph(sample)),
        "Übersicht 図.md": f"# {sample}\n\n{sample}".encode(),
        "c.csv": f"text\n{sample}".encode(),
    }
    for name, data in files.items():
        assert isolated(name, data) == parse(name, data)
    assert isolated("c.csv", files["c.csv"], text_column="text").text == sample


def test_a_typed_error_arrives_as_itself() -> None:
    with pytest.raises(EncryptedOfficeError, match=r"'図\.docx'"):
        isolated("図.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(EmptyDocumentError):
        isolated("a.txt", b"")


def test_a_file_name_that_is_not_unicode_survives() -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    assert isolated(name, b"words").text == "words"
    with pytest.raises(EmptyDocumentError) as caught:
        isolated(name, b" ")
    assert caught.value.name == name


def test_wall_time_is_bounded_and_the_process_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    async def start(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        started.append(await start_process(*arguments, **options))
        return started[0]

    start_process = asyncio.create_subprocess_exec
    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    run_instead(monkeypatch, "import signal; signal.pause()")
    with pytest.raises(ParserTimeoutError, match="wall_seconds"):
        isolated("a.txt", b"x", ParseLimits(wall_seconds=0.2))
    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_cpu_time_is_bounded() -> None:
    # Enough headings that one second is not enough.
    data = b"# heading *with* [inline](x) `code`\n\n" * 300_000
    with pytest.raises(ParserTimeoutError, match="cpu_seconds"):
        isolated("a.md", data, ParseLimits(cpu_seconds=1))


@pytest.mark.parametrize("memory", [20 * MIB, 80 * MIB])
def test_memory_is_bounded(memory: int) -> None:
    with pytest.raises(ParserMemoryError, match=str(memory)):
        isolated("a.txt", b"words " * 5_000_000, ParseLimits(memory_bytes=memory))


def test_memory_that_runs_out_in_a_native_library_is_told_from_bad_syntax() -> None:
    with pytest.raises(ParserMemoryError):
        isolated("a.html", b"<p>x" * 1_500_000, ParseLimits(memory_bytes=200 * MIB))


def test_cancelling_the_caller_ends_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    run_instead(monkeypatch, f"import signal; held = open({str(fifo)!r}, 'w'); signal.pause()")

    async def scenario() -> None:
        task = asyncio.create_task(parse_isolated("a.txt", b"x"))
        # Opening for reading waits for the writer; reading to the end waits for the writer's death.
        reader = await asyncio.to_thread(fifo.open)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with reader:
            assert await asyncio.to_thread(reader.read) == ""

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os; os.abort()", "Aborted"),
        ("raise SystemExit(3)", "exit status 3"),
        ("import sys; sys.stdin.buffer.read(); sys.stdout.write('not a frame at all')", "exit status"),
        ("import sys; sys.stdin.buffer.read(); sys.stdout.buffer.write(bytes(7) + b'\\2[]' + bytes(8))", "nonsense"),
        ("import sys; sys.stdin.buffer.read(); sys.stdout.buffer.write(b'\\xff' * 8)", "exit status"),
    ],
)
def test_a_worker_that_dies_or_lies_is_a_typed_error(monkeypatch: pytest.MonkeyPatch, program: str, words: str) -> None:
    run_instead(monkeypatch, program)
    with pytest.raises(ParserCrashedError, match=words):
        isolated("a.txt", b"x" * MIB)


def test_a_worker_that_the_host_kills_ran_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    run_instead(monkeypatch, "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(ParserMemoryError, match="host ran out of memory"):
        isolated("a.txt", b"x")


def test_the_environment_stays_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARANGO_PASSWORD", "secret")
    program = (
        'import os, sys; sys.stdin.buffer.read(); head = (\'{"error": "empty_document", "reason": "%s"}\''
        " % ('ARANGO_PASSWORD' in os.environ)).encode(); out = sys.stdout.buffer;"
        "out.write(len(head).to_bytes(8, 'big') + head + bytes(8))"
    )
    run_instead(monkeypatch, program)
    with pytest.raises(EmptyDocumentError, match="False"):
        isolated("a.txt", b"x")


def test_nothing_that_a_file_refers_to_is_fetched(make_docx: Callable[..., bytes]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.setblocking(False)
        url = f"http://127.0.0.1:{trap.getsockname()[1]}/x"
        page = (
            f'<!DOCTYPE html PUBLIC "x" "{url}"><link rel=stylesheet href="{url}"><base href="{url}"><img src="{url}">'
            f'<script src="{url}"></script><iframe src="{url}"></iframe><p>words</p>'
        )
        xml = f'<?xml version="1.0"?><!DOCTYPE p SYSTEM "{url}"><?xml-stylesheet href="{url}"?><p>words</p>'
        picture = f'<w:p><w:r><w:pict><v:imagedata xmlns:v="urn:v" src="{url}"/></w:pict><w:t>words</w:t></w:r></w:p>'
        relation = (
            '<Relationship Id="rX" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"'
            f' Target="{url}" TargetMode="External"/></Relationships>'
        )
        word = replaced(make_docx(lambda document: document.add_paragraph("x")), "<w:sectPr", picture + "<w:sectPr")
        word = replaced(word, "</Relationships>", relation)
        for name, data in {"a.html": page.encode(), "a.xhtml": xml.encode(), "a.docx": word}.items():
            assert "words" in isolated(name, data).text
        with pytest.raises(BlockingIOError):
            trap.accept()


def replaced(container: bytes, old: str, new: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(container)) as source, zipfile.ZipFile(buffer, "w") as target:
        for member in source.namelist():
            target.writestr(member, source.read(member).replace(old.encode(), new.encode()))
    return buffer.getvalue()


def test_the_worker_cannot_write_files_connect_or_start_programs(tmp_path: Path) -> None:
    # The worker's own preparation, then what a subverted parser might try.
    target = tmp_path / "written"
    program = f"""
import os, signal, socket, subprocess, sys
from steelyard_dataprep.parsing import ParseLimits
from steelyard_dataprep.parsing.worker import _limit, _refuse
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_limit(ParseLimits()); sys.addaudithook(_refuse)
def write():
    with open({str(target)!r}, "w") as file: file.write("x")
attempts = [write, lambda: subprocess.run(["true"]), lambda: socket.create_connection(("127.0.0.1", 9)), os.fork]
refused = 0
for attempt in attempts:
    try: attempt()
    except (OSError, PermissionError): refused += 1
sys.stdout.write(str(refused))
"""
    outcome = asyncio.run(run_program(program))
    assert outcome == "4"
    assert not target.exists() or target.read_text() == ""


async def run_program(program: str) -> str:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return output.decode()


def test_a_large_input_is_refused_without_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    run_instead(monkeypatch, "raise SystemExit(1)")
    with pytest.raises(TooLargeError, match="max_input_bytes"):
        isolated("a.txt", b"x" * 11, ParseLimits(max_input_bytes=10))


@pytest.mark.parametrize("code", sorted(ERRORS_BY_CODE))
def test_every_error_crosses_the_wire(code: str) -> None:
    head, text = encode_reply(ERRORS_BY_CODE[code]("ä.txt", "why 図"))
    with pytest.raises(ERRORS_BY_CODE[code], match=r"'ä\.txt': why 図") as caught:
        decode_reply("ä.txt", head, text)
    assert caught.value.code == code


def test_the_tree_of_errors_is_complete() -> None:
    classes = ParseError.__subclasses__()
    assert set(classes) == set(ERRORS_BY_CODE.values())
    documentation = sys.modules[ParseError.__module__].__doc__ or ""
    assert all(error.__name__ in documentation for error in classes)


def test_spans_that_do_not_fit_are_not_accepted() -> None:
    head, _ = encode_reply(parse("a.md", b"# T\n\nwords"))
    fields = json.loads(head)
    for sections in ([], [[0, "", [], 0, 0, 99]], [[0, "", [], 1, 1, 5]], [[0, "", [], 0, 9, 5]]):
        with pytest.raises(ValueError, match="section"):
            decode_reply("a.md", json.dumps(fields | {"sections": sections}).encode(), b"words")


def test_limits_are_all_passed_on() -> None:
    limits = ParseLimits()
    assert all(value > 0 for value in asdict(limits).values())
