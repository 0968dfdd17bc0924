import asyncio
import io
import os
import select
import signal
import socket
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard_dataprep.parsing import ParseLimits, parse
from steelyard_dataprep.parsing.errors import (
    EmptyDocumentError,
    EncryptedOfficeError,
    ParserCrashedError,
    ParserMemoryError,
    ParserStarvedError,
    ParserTimeoutError,
    TooLargeError,
)
from steelyard_dataprep.preparation import isolation
from steelyard_dataprep.preparation.isolation import IsolatedParser
from steelyard_dataprep.preparation.prepared import ChunkSize, PreparedDocument, prepare

MIB = 1024 * 1024
SIZE = ChunkSize(40, 0)


class Isolated:
    """Prepares files with a fork server of its own each time, as little as that is worth outside of tests."""

    def __init__(self, tokenizer: Path) -> None:
        self.tokenizer = tokenizer

    def __call__(self, name: str, data: bytes, limits: ParseLimits | None = None, **options: str) -> PreparedDocument:
        async def once() -> PreparedDocument:
            async with self.parser(limits) as parser:
                return await parser.prepare(name, data, **options)

        return asyncio.run(once())

    def parser(self, limits: ParseLimits | None = None) -> IsolatedParser:
        return IsolatedParser(self.tokenizer, SIZE, limits or ParseLimits())


@pytest.fixture
def isolated(tokenizer_file: Path) -> Isolated:
    return Isolated(tokenizer_file)


def run_instead(monkeypatch: pytest.MonkeyPatch, *body: str) -> None:
    """Put another function in the place of what a parser process does."""
    program = [
        "import os, signal, sys, time",
        "from steelyard_dataprep.preparation import forkserver, worker",
        "def serve(source, reply, count_tokens):",
        *(f"    {line}" for line in body),
        "worker.serve = serve",
        "forkserver.main()",
    ]
    monkeypatch.setattr(isolation, "_PROGRAM", ("-c", "\n".join(program)))


def test_gives_what_preparing_here_gives(
    isolated: Isolated,
    count_tokens: Callable[[str], int],
    make_pdf: Callable[..., bytes],
    make_docx: Callable[..., bytes],
    sample: str,
) -> None:
    files = {
        "a.pdf": make_pdf(["Page one"], ["日本語"]),
        "b.docx": make_docx(lambda document: document.add_paragraph(sample)),
        "Übersicht 図.md": f"# {sample}\n\n## Inner\n\n{sample * 200}".encode(),
        "c.csv": f"text\n{sample}".encode(),
        "long.txt": ("天秤は荷物を量ります。" * 60_000).encode(),
    }

    async def scenario() -> None:
        async with isolated.parser() as parser:
            for name, data in files.items():
                assert await parser.prepare(name, data) == prepare(parse(name, data), count_tokens, SIZE)
            assert (await parser.prepare("c.csv", files["c.csv"], text_column="text")).text == sample

    asyncio.run(scenario())


def test_a_typed_error_arrives_as_itself(isolated: Isolated) -> None:
    with pytest.raises(EncryptedOfficeError, match=r"'図\.docx'"):
        isolated("図.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(EmptyDocumentError):
        isolated("a.txt", b"")


def test_a_file_name_that_is_not_unicode_survives(isolated: Isolated) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    assert isolated(name, b"words").text == "words"
    with pytest.raises(EmptyDocumentError) as caught:
        isolated(name, b" ")
    assert caught.value.name == name


def alive(fifo: Path) -> str:
    """A line for a parser process by which `wait_for_the_end` knows it."""
    os.mkfifo(fifo)
    return f"held = open({str(fifo)!r}, 'w')"


async def wait_for_the_end(fifo: Path) -> None:
    # Opening for reading waits for the writer; reading to the end waits for the writer's death.
    with await asyncio.to_thread(fifo.open) as reader:
        assert await asyncio.to_thread(reader.read) == ""


def test_wall_time_is_bounded_and_is_not_the_files_fault(
    isolated: Isolated, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run_instead(monkeypatch, alive(tmp_path / "alive"), "signal.pause()")

    async def scenario() -> None:
        async with isolated.parser(ParseLimits(wall_seconds=0.5)) as parser:
            ended = asyncio.create_task(wait_for_the_end(tmp_path / "alive"))
            with pytest.raises(ParserStarvedError, match=r"after 0\.5 s .* less than 60 s of CPU time"):
                await parser.prepare("a.txt", b"x")
            await ended

    asyncio.run(scenario())


def test_cpu_time_is_bounded(isolated: Isolated) -> None:
    # Enough headings that one second is not enough.
    data = b"# heading *with* [inline](x) `code`\n\n" * 300_000
    with pytest.raises(ParserTimeoutError, match="cpu_seconds"):
        isolated("a.md", data, ParseLimits(cpu_seconds=1))


def test_cutting_is_within_the_same_limits(isolated: Isolated) -> None:
    with pytest.raises(ParserTimeoutError, match="cpu_seconds"):
        isolated("a.txt", "天秤は荷物を量ります。".encode() * 300_000, ParseLimits(cpu_seconds=1))


def test_a_process_that_holds_off_its_cpu_limit_is_killed_for_it(
    isolated: Isolated, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_instead(
        monkeypatch,
        "signal.signal(signal.SIGXCPU, signal.SIG_IGN)",
        "worker.limit(worker.ParseLimits(cpu_seconds=1))",
        "while True: pass",
    )
    with pytest.raises(ParserTimeoutError, match="cpu_seconds"):
        isolated("a.txt", b"x", ParseLimits(cpu_seconds=1))


@pytest.mark.parametrize("memory", [2 * MIB, 20 * MIB])
def test_memory_is_bounded(isolated: Isolated, memory: int) -> None:
    with pytest.raises(ParserMemoryError, match=str(memory)):
        isolated("a.txt", b"words " * 5_000_000, ParseLimits(memory_bytes=memory))


def test_memory_that_runs_out_in_a_native_library_is_told_from_bad_syntax(isolated: Isolated) -> None:
    with pytest.raises(ParserMemoryError):
        isolated("a.html", b"<p>x" * 1_500_000, ParseLimits(memory_bytes=100 * MIB))


def test_cancelling_the_caller_ends_the_process(
    isolated: Isolated, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run_instead(monkeypatch, alive(tmp_path / "alive"), "print('', file=held)", "signal.pause()")

    async def scenario() -> None:
        async with isolated.parser() as parser:
            task = asyncio.create_task(parser.prepare("a.txt", b"x"))
            with await asyncio.to_thread((tmp_path / "alive").open) as reader:
                assert not task.done()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await asyncio.to_thread(reader.read) == ""

    asyncio.run(scenario())


def test_what_runs_ends_with_the_parser(isolated: Isolated, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_instead(monkeypatch, alive(tmp_path / "alive"), "signal.pause()")

    async def scenario() -> None:
        async with isolated.parser() as parser:
            task = asyncio.create_task(parser.prepare("a.txt", b"x"))
            ended = asyncio.create_task(wait_for_the_end(tmp_path / "alive"))
            # A second reader, as a sign that it runs.
            (await asyncio.to_thread((tmp_path / "alive").open)).close()
        with pytest.raises(ParserStarvedError, match="lost"):
            await task
        await ended

    asyncio.run(scenario())


SOURCE = "source.read()"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["os.abort()"], "Aborted"),
        (["os._exit(3)"], "exit status 3"),
        (["raise ValueError"], "exit status 1"),
        ([SOURCE, "reply.write(b'not a frame at all')", "reply.flush()", "signal.pause()"], "nonsense"),
        ([SOURCE, "reply.write(bytes(7) + b'\\2[]')", "reply.flush()", "signal.pause()"], "nonsense"),
        ([SOURCE, "reply.write(b'\\xff' * 8)", "reply.flush()"], "nonsense"),
        ([SOURCE, "head = b'{\"frames\": 1000000000}'", "reply.write(len(head).to_bytes(8, 'big') + head)",
          "reply.write(bytes(8) * 1000000)", "reply.flush()"], "nonsense"),
    ],
)  # fmt: skip
def test_a_worker_that_dies_or_lies_is_a_typed_error(
    isolated: Isolated, monkeypatch: pytest.MonkeyPatch, lines: list[str], words: str
) -> None:
    run_instead(monkeypatch, *lines)
    with pytest.raises(ParserCrashedError, match=words):
        isolated("a.txt", b"x" * MIB)


def test_a_worker_that_the_host_kills_ran_out_of_memory(isolated: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
    run_instead(monkeypatch, "os.kill(os.getpid(), 9)")
    with pytest.raises(ParserMemoryError, match="host ran out of memory"):
        isolated("a.txt", b"x")


def said(value: str) -> list[str]:
    """Lines by which a parser process answers with the text of an expression."""
    return [
        SOURCE,
        f"reason = str({value})",
        'head = (\'{"frames": 0, "error": "empty_document", "reason": "%s"}\' % reason).encode()',
        "reply.write(len(head).to_bytes(8, 'big') + head)",
        "reply.flush()",
        "os._exit(0)",
    ]


def test_the_environment_stays_behind(isolated: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARANGO_PASSWORD", "secret")
    run_instead(monkeypatch, *said("'ARANGO_PASSWORD' in os.environ"))
    with pytest.raises(EmptyDocumentError, match="False"):
        isolated("a.txt", b"x")


def test_no_descriptor_leads_out_of_the_process(isolated: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
    # The channel twice, nowhere twice, and the folder that is being listed.
    run_instead(monkeypatch, *said("len(os.listdir('/proc/self/fd'))"))
    with pytest.raises(EmptyDocumentError, match=r"'a\.txt': 5$"):
        isolated("a.txt", b"x")


def test_what_a_file_does_to_its_process_ends_with_it(isolated: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
    run_instead(monkeypatch, "worker.files = getattr(worker, 'files', 0) + 1", *said("worker.files"))

    async def scenario() -> None:
        async with isolated.parser() as parser:
            for _ in range(3):
                with pytest.raises(EmptyDocumentError, match=r"'a\.txt': 1$"):
                    await parser.prepare("a.txt", b"x")

    asyncio.run(scenario())


def test_several_files_at_once_get_their_own_replies(isolated: Isolated) -> None:
    async def scenario() -> list[PreparedDocument]:
        async with isolated.parser() as parser:
            return await asyncio.gather(*(parser.prepare("a.txt", b"words %d" % number) for number in range(8)))

    assert [one.text for one in asyncio.run(scenario())] == [f"words {number}" for number in range(8)]


def test_a_fork_server_that_dies_costs_one_file(isolated: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with isolated.parser() as parser:
            run_instead(monkeypatch, "os.kill(os.getppid(), 9)", "os._exit(0)")
            await parser.__aexit__(None, None, None)
            with pytest.raises(ParserStarvedError, match="lost"):
                await parser.prepare("a.txt", b"x")
            monkeypatch.undo()
            assert (await parser.prepare("a.txt", b"words")).text == "words"

    asyncio.run(scenario())


def kill_fork_server() -> None:
    """Kill the fork server of this process and wait until it is dead, before anything here notices."""
    (server,) = (
        int(child)
        for task in Path("/proc/self/task").iterdir()
        for child in (task / "children").read_text().split()
        if b"preparation.forkserver" in Path(f"/proc/{child}/cmdline").read_bytes()  # that of a dead one is empty
    )
    ended = os.pidfd_open(server)
    os.kill(server, signal.SIGKILL)
    select.select([ended], [], [])
    os.close(ended)


def test_a_fork_server_that_died_between_two_files_costs_none(isolated: Isolated) -> None:
    async def scenario() -> None:
        async with isolated.parser() as parser:
            for _ in range(3):
                kill_fork_server()
                assert (await parser.prepare("a.txt", b"words")).text == "words"

    asyncio.run(scenario())


def test_a_fork_server_that_does_not_start_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ChildProcessError, match="status 1"):
        Isolated(tmp_path / "absent.json")("a.txt", b"x")
    assert "absent.json" in capfd.readouterr().err


def test_nothing_that_a_file_refers_to_is_fetched(isolated: Isolated, make_docx: Callable[..., bytes]) -> None:
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
from steelyard_dataprep.preparation.worker import limit, refuse
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit(ParseLimits()); sys.addaudithook(refuse)
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


def test_a_large_input_is_refused_without_a_process(isolated: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
    run_instead(monkeypatch, "os._exit(1)")
    with pytest.raises(TooLargeError, match="max_input_bytes"):
        isolated("a.txt", b"x" * 11, ParseLimits(max_input_bytes=10))
