"""A TCP proxy that breaks HTTP in one way per request: between two parts of the stack, byte by byte.

Which requests are broken, and how, is decided by `choose(head)` from the request's head, so that broken and healthy
requests run side by side over the same connections.
"""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.harness.in_thread import InThread

DRIP_S = 0.05


@dataclass
class Exchange:
    """One request that arrived and the whole reply of the target, head and body apart; `client` is who asked."""

    request: bytes
    head: bytes
    body: bytes
    client: asyncio.StreamWriter
    reader: asyncio.StreamReader

    async def send(self, data: bytes) -> None:
        self.client.write(data)
        await self.client.drain()

    async def send_framed(self, body: bytes, *, status: bytes = b"200 OK", extra: bytes = b"") -> None:
        await self.send(
            b"HTTP/1.1 " + status + b"\r\n" + self._kept() + extra
            + b"Content-Length: %d\r\n\r\n" % len(body) + body
        )  # fmt: skip

    def _kept(self) -> bytes:
        """Of the target's headers, those that the reply is judged by."""
        return b"".join(re.findall(rb"(?im)^(?:content-type|x-request-id|retry-after):.*\r\n", self.head))

    async def begin(self, framing: bytes) -> None:
        await self.send(b"HTTP/1.1 200 OK\r\n" + self._kept() + framing + b"\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n" % len(data) + data + b"\r\n")

    def reset(self) -> None:
        self.client.transport.abort()

    async def hang(self) -> None:
        """Until whoever asked has gone."""
        await self.reader.read()
        raise Broken

    async def drip(self, data: bytes) -> None:
        for position in range(len(data)):
            await self.send(data[position : position + 1])
            await asyncio.sleep(DRIP_S)


Fault = Callable[[Exchange], Awaitable[None]]


class Broken(Exception):  # noqa: N818  not an error of the test
    """The connection is to be closed now."""


def _half(body: bytes) -> bytes:
    return body[: len(body) // 2]


async def reset_at_once(one: Exchange) -> None:
    one.reset()


async def close_at_once(one: Exchange) -> None:
    raise Broken


async def hang_before_head(one: Exchange) -> None:
    await one.hang()


async def hang_mid_head(one: Exchange) -> None:
    await one.send(b"HTTP/1.1 200 OK\r\nContent-")
    await one.hang()


async def hang_before_body(one: Exchange) -> None:
    await one.begin(b"Content-Length: %d\r\n" % len(one.body))
    await one.hang()


async def hang_mid_body(one: Exchange) -> None:
    await one.begin(b"Content-Length: %d\r\n" % len(one.body))
    await one.send(_half(one.body))
    await one.hang()


async def drip_head(one: Exchange) -> None:
    await one.drip(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 100_000)


async def drip_body(one: Exchange) -> None:
    await one.begin(b"Content-Length: %d\r\n" % (len(one.body) + 100_000))
    await one.drip(b" " * 100_000)


async def reset_mid_head(one: Exchange) -> None:
    await one.send(b"HTTP/1.1 200 OK\r\nContent-Le")
    one.reset()


async def close_mid_head(one: Exchange) -> None:
    await one.send(b"HTTP/1.1 200 OK\r\nContent-Le")
    raise Broken


async def reset_mid_body(one: Exchange) -> None:
    await one.begin(b"Content-Length: %d\r\n" % len(one.body))
    await one.send(_half(one.body))
    one.reset()


async def close_mid_body(one: Exchange) -> None:
    await one.begin(b"Content-Length: %d\r\n" % len(one.body))
    await one.send(_half(one.body))
    raise Broken


async def chunk_cut_short(one: Exchange) -> None:
    await one.begin(b"Transfer-Encoding: chunked\r\n")
    await one.send(b"%x\r\n" % len(one.body) + _half(one.body))
    raise Broken


async def chunks_without_end(one: Exchange) -> None:
    await one.begin(b"Transfer-Encoding: chunked\r\n")
    await one.chunk(_half(one.body))
    raise Broken


async def chunk_size_is_no_number(one: Exchange) -> None:
    await one.begin(b"Transfer-Encoding: chunked\r\n")
    await one.send(b"ZZ\r\n" + one.body + b"\r\n0\r\n\r\n")


async def length_too_long(one: Exchange) -> None:
    await one.begin(b"Content-Length: %d\r\n" % (len(one.body) * 2))
    await one.send(_half(one.body))
    raise Broken


async def length_too_short(one: Exchange) -> None:
    await one.begin(b"Content-Length: %d\r\n" % (len(one.body) // 2))
    await one.send(one.body)


async def two_lengths(one: Exchange) -> None:
    await one.begin(b"Content-Length: %d\r\nContent-Length: 2\r\n" % len(one.body))
    await one.send(one.body)


async def status_500(one: Exchange) -> None:
    await one.send_framed(b"oops", status=b"500 Internal Server Error")


async def status_503(one: Exchange) -> None:
    await one.send_framed(b"busy", status=b"503 Service Unavailable")


async def redirect(one: Exchange) -> None:
    await one.send_framed(b"", status=b"302 Found", extra=b"Location: /elsewhere\r\n")


async def empty_204(one: Exchange) -> None:
    await one.send(b"HTTP/1.1 204 No Content\r\n\r\n")


async def not_http(one: Exchange) -> None:
    await one.send(b"SSH-2.0-OpenSSH_9.0\r\n")
    raise Broken


async def unasked_compression(one: Exchange) -> None:
    await one.send_framed(gzip.compress(one.body), extra=b"Content-Encoding: gzip\r\n")


async def body_cut_in_half(one: Exchange) -> None:
    await one.send_framed(_half(one.body))


TRANSPORT: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        reset_at_once,
        close_at_once,
        hang_before_head,
        hang_mid_head,
        hang_before_body,
        hang_mid_body,
        drip_head,
        drip_body,
        reset_mid_head,
        close_mid_head,
        reset_mid_body,
        close_mid_body,
        chunk_cut_short,
        chunks_without_end,
        chunk_size_is_no_number,
        length_too_long,
        length_too_short,
        two_lengths,
        status_500,
        status_503,
        redirect,
        empty_204,
        not_http,
        unasked_compression,
        body_cut_in_half,
    )
}


async def reply_twice(one: Exchange) -> None:
    """Harmless for this request; whatever is asked next over the connection must not get the second reply."""
    await one.send_framed(one.body)
    await one.send_framed(one.body)


async def reply_again_later(one: Exchange) -> None:
    """The second reply finds the connection idle, or serving the next request."""
    await one.send_framed(one.body)
    await asyncio.sleep(DRIP_S)
    await one.send_framed(one.body)


async def in_tiny_pieces(one: Exchange) -> None:
    await one.begin(b"Transfer-Encoding: chunked\r\n")
    for start in range(0, len(one.body), 7):
        await one.chunk(one.body[start : start + 7])
    await one.send(b"0\r\n\r\n")


HARMLESS: dict[str, Fault] = {fault.__name__: fault for fault in (reply_twice, reply_again_later, in_tiny_pieces)}


def rewriting(change: Callable[[bytes], bytes]) -> Fault:
    """A reply whose body is `change(body)`, framed as it should be."""

    async def fault(one: Exchange) -> None:
        await one.send_framed(change(one.body))

    return fault


@dataclass
class FaultProxy:
    """A running proxy in front of `target` (a base URL). `heads` are those of the requests that arrived."""

    target: str
    choose: Callable[[str], Fault | None] = lambda _head: None
    url: str = ""
    heads: list[str] = field(default_factory=list)
    _served: InThread | None = None
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    def start(self) -> "FaultProxy":
        self._served = InThread(self._listening())
        self.url = self._served.url
        return self

    def stop(self) -> None:
        assert self._served is not None
        self._served.stop()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**24)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for task in list(self._serving):
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            while True:
                request, _ = await _message(reader)
                head = request.partition(b"\r\n\r\n")[0].decode("latin-1")
                self.heads.append(head)
                fault = self.choose(head)
                reply_head, body = await self._forward(request)
                await (fault or _faithful)(Exchange(request, reply_head, body, writer, reader))
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError, Broken):
            pass  # one side has gone, or is to be left, or the proxy stops
        finally:
            self._serving.discard(task)
            writer.close()

    async def _forward(self, request: bytes) -> tuple[bytes, bytes]:
        host, _, port = self.target.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=2**24)
        try:
            writer.write(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            await writer.drain()
            return await _message(reader)
        finally:
            writer.close()


async def _faithful(one: Exchange) -> None:
    await one.send_framed(one.body, status=one.head.split(b"\r\n", 1)[0].split(b" ", 1)[1])


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """A whole HTTP message: for a request all of its bytes, for a reply its head; and the body without its framing."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?im)^content-length: *(\d+)", head)
    if re.search(rb"(?im)^transfer-encoding: *chunked", head):
        body = b""
        while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readuntil(b"\r\n")
    else:
        body = await reader.readexactly(int(length[1])) if length else b""
    return (head if head.startswith(b"HTTP/") else head + body), body
