"""Preparing a document in a process of its own, so that a hostile file can harm nothing but its own result."""

from __future__ import annotations

import asyncio
import signal
import socket
from asyncio.subprocess import Process
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from steelyard_dataprep.parsing.errors import (
    ParseError,
    ParserCrashedError,
    ParserMemoryError,
    ParserStarvedError,
    ParserTimeoutError,
    TooLargeError,
)
from steelyard_dataprep.parsing.limits import ParseLimits
from steelyard_dataprep.preparation.forkserver import ENDED, FORK, READY
from steelyard_dataprep.preparation.prepared import ChunkSize, PreparedDocument
from steelyard_dataprep.preparation.wire import (
    LENGTH,
    MAX_FRAME_BYTES,
    ParseRequest,
    decode_reply,
    encode_request,
    following_frames,
    frame,
)
from steelyard_dataprep.preparation.worker import OUT_OF_MEMORY
from steelyard_runtime import companion, logs

_PROGRAM = ("-I", "-X", "utf8", "-m", "steelyard_dataprep.preparation.forkserver")
# Threads would not survive the fork, and one text at a time gives them nothing to do.
_ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false"}
_START_S = 60.0
_READ_AHEAD_BYTES = 2**20
# Text takes at most 4 bytes of UTF-8 a character; chunks and branches repeat parts of it.
_MAX_REPLY_BYTES_PER_CHAR = 16
_MIN_REPLY_BYTES = 2**20
_FRAME_OVERHEAD_BYTES = 1024


class IsolatedParser:
    """Prepares files, each in a fresh process with bounded time and memory. Use as an async context manager.

    A process has the tokenizer and the parsers loaded and has seen no other file. It gets neither this one's
    environment nor its files; it cannot write files, and its Python code cannot open connections or start processes.
    It is killed when time is up and when the caller is cancelled. The caller bounds how many run at once.
    """

    def __init__(self, tokenizer: Path, size: ChunkSize, limits: ParseLimits) -> None:
        # The fork server runs in another folder.
        self._tokenizer = tokenizer.resolve()
        self._size = size
        self._limits = limits
        self._turn = asyncio.Lock()
        self._server: _ForkServer | None = None

    async def __aenter__(self) -> Self:
        await self._running()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            await self._drop(self._server)

    async def prepare(self, name: str, data: bytes, *, text_column: str | None = None) -> PreparedDocument:
        """Parse and cut one file; `name` and `text_column` as for `parse`.

        Raises a ParseError: besides those of `parse` ParserTimeoutError, ParserMemoryError and ParserCrashedError,
        which are the file's doing, and ParserStarvedError, which is not.
        """
        limits = self._limits
        if len(data) > limits.max_input_bytes:
            raise TooLargeError(name, f"has {len(data)} bytes, more than {limits.max_input_bytes} (max_input_bytes)")
        process = await self._start_process(name)
        try:
            async with asyncio.timeout(limits.wall_seconds):
                reply = await process.exchange(ParseRequest(name, limits, self._size, text_column), data)
                if reply is None:
                    ended = await process.ended()
                    if ended is None:
                        await self._give_up(process.server)
                    raise _cause_of_death(name, ended, limits)
            return await asyncio.to_thread(decode_reply, name, reply)
        except TimeoutError:
            raise ParserStarvedError(
                name,
                f"was not done after {limits.wall_seconds:g} s although it used less than {limits.cpu_seconds} s of"
                " CPU time: the machine is busy; send it again",
            ) from None
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ParserCrashedError(name, f"the parser process replied nonsense ({type(error).__name__})") from error
        finally:
            await process.end()

    async def _start_process(self, name: str) -> _ParserProcess:
        channel, their_channel = socket.socketpair()
        told, their_told = socket.socketpair()
        with their_channel, their_told:
            try:
                server = await self._fork(their_channel, their_told)
            except OSError as error:
                channel.close()
                told.close()
                raise ParserStarvedError(
                    name, f"no parser process could be started ({error.strerror or error}); send it again"
                ) from error
        return await _ParserProcess.over(server, channel, told)

    async def _fork(self, *ends: socket.socket) -> _ForkServer:
        """Start a process that has `ends`; raises OSError when even a new fork server does not."""
        for last in (False, True):
            server = await self._running()
            try:
                socket.send_fds(server.control, [FORK], [end.fileno() for end in ends])
            except OSError:
                # It has died, which may not have been noticed yet.
                await self._give_up(server)
                if last:
                    raise
            else:
                break
        return server

    async def _running(self) -> _ForkServer:
        """A fork server that runs as far as is known; starts one where there is none (any more)."""
        async with self._turn:
            if self._server is not None and self._server.process.returncode is not None:
                await self._give_up(self._server)
            if self._server is None:
                self._server = await _start_server(self._tokenizer)
            return self._server

    async def _give_up(self, server: _ForkServer) -> None:
        """End a fork server that has died, or is about to: the next file gets another one."""
        await self._drop(server)
        logs.get().error("fork_server_died", status=server.process.returncode)

    async def _drop(self, server: _ForkServer) -> None:
        """End a fork server, which takes its parser processes with it."""
        if self._server is server:
            self._server = None
        server.control.close()
        await server.process.wait()


@dataclass(frozen=True, slots=True, eq=False)
class _ForkServer:
    """The process that parser processes are forked from, and the socket over which it is told to."""

    process: Process
    control: socket.socket


async def _start_server(tokenizer: Path) -> _ForkServer:
    server, control = await companion.start((*_PROGRAM, str(tokenizer)), _ENVIRONMENT)
    control.setblocking(False)
    try:
        async with asyncio.timeout(_START_S):
            said = await asyncio.get_running_loop().sock_recv(control, len(READY))
    except (OSError, TimeoutError):
        control.close()
        raise
    if said != READY:
        control.close()
        raise ChildProcessError(f"the fork server of the parsers ended with status {await server.wait()}")
    return _ForkServer(server, control)


@dataclass(slots=True)
class _ParserProcess:
    """One parser process: its channel, and the socket over which its end is told."""

    server: _ForkServer
    channel: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    told: tuple[asyncio.StreamReader, asyncio.StreamWriter]

    @classmethod
    async def over(cls, server: _ForkServer, channel: socket.socket, told: socket.socket) -> _ParserProcess:
        """Take over both sockets; a caller that is cancelled meanwhile leaves neither open, which ends the process."""
        try:
            reader, writer = await asyncio.open_connection(sock=channel, limit=_READ_AHEAD_BYTES)
        except BaseException:
            told.close()
            raise
        try:
            return cls(server, (reader, writer), await asyncio.open_connection(sock=told))
        except BaseException:
            writer.transport.abort()
            raise

    async def exchange(self, request: ParseRequest, data: bytes) -> list[bytes] | None:
        """Return the reply's frames, or None if the process ended before.

        Raises ValueError, KeyError or TypeError for a reply that is not well formed.
        """
        reader, writer = self.channel
        room = _MIN_REPLY_BYTES + _MAX_REPLY_BYTES_PER_CHAR * request.limits.max_text_chars
        frames: list[bytes] = []
        awaited = 1
        try:
            writer.write(frame(encode_request(request)))
            writer.write(LENGTH.pack(len(data)))
            writer.write(data)
            writer.write_eof()
            await writer.drain()
            while len(frames) < awaited:
                length = LENGTH.unpack(await reader.readexactly(LENGTH.size))[0]
                room -= length + _FRAME_OVERHEAD_BYTES
                if length > MAX_FRAME_BYTES or room < 0:
                    raise ValueError(f"a frame of {length} bytes")
                frames.append(await reader.readexactly(length))
                if len(frames) == 1:
                    awaited += following_frames(frames[0])
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return frames

    async def ended(self) -> tuple[int, float] | None:
        """Wait for the process to end; its exit status and CPU seconds, or None if nobody could tell."""
        told = await self.told[0].read(ENDED.size)
        return ENDED.unpack(told) if len(told) == ENDED.size else None

    async def end(self) -> None:
        """Kill the process unless it has ended, wait until it has, and close what leads to it."""
        reader, writer = self.told
        try:
            # The other side takes this for the sign to kill it, and closes when that is done.
            writer.write_eof()
            await reader.read()
        finally:
            for _, stream in (self.channel, self.told):
                stream.transport.abort()


def _cause_of_death(name: str, ended: tuple[int, float] | None, limits: ParseLimits) -> ParseError:
    if ended is None:
        return ParserStarvedError(name, "its parser process was lost or could not be started; send it again")
    status, cpu_seconds = ended
    if status == -signal.SIGXCPU or (status == -signal.SIGKILL and cpu_seconds >= limits.cpu_seconds):
        return ParserTimeoutError(name, f"used more than {limits.cpu_seconds} s of CPU time to parse (cpu_seconds)")
    if status == OUT_OF_MEMORY:
        return ParserMemoryError(name, f"needs more than {limits.memory_bytes} bytes to parse")
    if status == -signal.SIGKILL:
        return ParserMemoryError(name, "the parser process was killed, most likely because the host ran out of memory")
    if status < 0:
        # Native parsers also abort when they reach their limit.
        cause = f"{signal.strsignal(-status)}, with {limits.memory_bytes} bytes of memory at most"
    else:
        cause = f"exit status {status}"
    return ParserCrashedError(name, f"the parser process died on it ({cause})")
