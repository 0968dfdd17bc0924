"""Fetching a link: every hop is checked against the policy, and the connection goes to the address that was checked."""

import asyncio
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from steelyard_contracts.errors import ErrorCode, SteelyardError

from ..parsing.media_type import MediaType, named_type
from .policy import LinkPolicy, refused

_TOTAL_S = 60.0
_CONNECT_S = 10.0
_MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SUFFIXES = {
    MediaType.PDF: ".pdf",
    MediaType.DOCX: ".docx",
    MediaType.HTML: ".html",
    MediaType.MARKDOWN: ".md",
    MediaType.TEXT: ".txt",
    MediaType.CSV: ".csv",
    MediaType.JSONL: ".jsonl",
    MediaType.EMAIL: ".eml",
}
_ALSO_CALLED = {
    "application/xhtml+xml": MediaType.HTML,
    "text/x-markdown": MediaType.MARKDOWN,
    "application/x-ndjson": MediaType.JSONL,
    "application/x-pdf": MediaType.PDF,
}
# What servers say of files that they know nothing about.
_SAYS_NOTHING = frozenset({"", "application/octet-stream", "binary/octet-stream", MediaType.TEXT.value})


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a link led to; `read_as` is a file name that says its type."""

    data: bytes
    read_as: str


class _CheckedResolver(AbstractResolver):
    """Resolves a name once and gives out nothing that the policy does not allow.

    What it gives out is what the connection is made to, so that a name which resolves differently a moment later
    (DNS rebinding) gains nothing.
    """

    def __init__(self, policy: LinkPolicy) -> None:
        self._policy = policy
        self._resolver = aiohttp.ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)  # type: ignore[arg-type]  # int and enum mix there
        self._policy.check_addresses(one["host"] for one in found)
        return found

    async def close(self) -> None:
        await self._resolver.close()


class LinkFetcher:
    """Fetches links within a policy; at most `max_bytes` of each. Use as an async context manager."""

    def __init__(self, policy: LinkPolicy, max_bytes: int) -> None:
        self.policy = policy
        self._max_bytes = max_bytes
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(
            resolver=_CheckedResolver(self.policy), use_dns_cache=False, force_close=True, limit=4
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
            # `identity`: a compressed reply could be small on the wire and without bound in memory.
            headers={"Accept-Encoding": "identity", "User-Agent": "steelyard-dataprep"},
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def fetch(self, link: str) -> Fetched:
        """The document behind a link.

        Raises `link_refused` when it, or a redirect, leads where links may not lead, `link_failed` when its server can
        not be reached or answers with something else than a document, `too_large` and `unsupported_type`.
        """
        try:
            async with asyncio.timeout(_TOTAL_S):
                return await self._follow(self.policy.checked_url(link))
        except TimeoutError:
            raise _failed(f"took longer than {_TOTAL_S:g} s") from None
        except aiohttp.ClientError as error:
            # The message could name addresses inside of this network.
            raise _failed(f"can not be fetched ({type(error).__name__})") from None

    async def _follow(self, url: URL) -> Fetched:
        assert self._session is not None
        for _ in range(_MAX_REDIRECTS + 1):
            async with self._session.get(url, allow_redirects=False) as response:
                if response.status not in _REDIRECTS:
                    return await self._document(url, response)
                target = response.headers.get("Location", "")
            following = self.policy.checked_url(_joined(url, target))
            if url.scheme == "https" and following.scheme == "http":
                raise refused("is redirected from https to http")
            url = following
        raise _failed(f"is redirected more than {_MAX_REDIRECTS} times")

    async def _document(self, url: URL, response: aiohttp.ClientResponse) -> Fetched:
        if response.status != 200:
            raise _failed(f"is answered with status {response.status}")
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise _failed("is answered in a compressed form that was not asked for")
        read_as = _file_name(url, response.headers.get("Content-Type", ""))
        data = bytearray()
        async for part in response.content.iter_any():
            data += part
            if len(data) > self._max_bytes:
                raise SteelyardError(ErrorCode.TOO_LARGE, f"the link leads to more than {self._max_bytes} bytes")
        return Fetched(bytes(data), read_as)


def _joined(url: URL, target: str) -> str:
    if not target:
        raise _failed("is redirected to nowhere")
    try:
        return str(url.join(URL(target)))
    except ValueError:
        raise refused("is redirected to something that is not a URL") from None


def _file_name(url: URL, content_type: str) -> str:
    """A name for the document whose ending says what it is: by the path, where the server says nothing better."""
    said = content_type.partition(";")[0].strip().lower()
    if said in _SAYS_NOTHING and named_type(url.name) is not None:
        return url.name
    known = _ALSO_CALLED.get(said) or next((kind for kind in MediaType if kind.value == said), None)
    if known is None and said not in _SAYS_NOTHING:
        raise SteelyardError(ErrorCode.UNSUPPORTED_TYPE, f"the link leads to {said[:80]}, which is not read")
    return (url.name or url.host or "link") + ("" if known is None else _SUFFIXES[known])


def _failed(reason: str) -> SteelyardError:
    return SteelyardError(ErrorCode.LINK_FAILED, f"the link {reason}")
