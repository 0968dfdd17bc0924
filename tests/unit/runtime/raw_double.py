"""A neighbour that speaks raw HTTP, so that a test decides every byte and every close."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Handler = Callable[["Call"], Awaitable[None]]


@dataclass
class Call:
    """One request that arrived; `number` counts from 1 over all connections."""

    number: int
    on_connection: int
    head: str
    body: bytes
    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader

    def header(self, name: str) -> str | None:
        found = re.search(rf"^{name}: (.*)\r$", self.head, re.IGNORECASE | re.MULTILINE)
        return found[1] if found else None

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def reply(self, body: bytes, status: str = "200 OK", extra: str = "", kind: str = "application/json") -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
        await self.write(head.encode("latin-1") + body)

    def reset(self) -> None:
        self.writer.transport.abort()


@dataclass
class Double:
    url: str = ""
    connections: int = 0
    calls: list[Call] = field(default_factory=list)
    client_gone: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def neighbour(handler: Handler) -> AsyncIterator[Double]:
    double = Double()
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        double.connections += 1
        connection = double.connections
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1])) if length else b""
                call = Call(len(double.calls) + 1, connection, head, body, writer, reader)
                double.calls.append(call)
                await handler(call)
        except (asyncio.IncompleteReadError, ConnectionError):
            double.client_gone.set()
        finally:
            serving.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    double.url = "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
    try:
        yield double
    finally:
        server.close()
        for task in list(serving):
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await server.wait_closed()
