"""Links: 60 that must lead nowhere, by policy, by resolved address and by redirect, and a trap that counts who came."""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import aiohttp
import pytest

from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_dataprep.links import fetching
from steelyard_dataprep.links.fetching import Fetched, LinkFetcher
from steelyard_dataprep.links.policy import LinkPolicy

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)
PAGE = b"<!doctype html><p>The seal is ZQ-77."


class Site:
    """A web server on loopback. `hits` are the paths that were asked for; `pages` says what they answer."""

    def __init__(self) -> None:
        self.hits: list[str] = []
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.drip = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.hits.append(self.path)
                status, headers, body = site.pages.get(self.path, (200, {"Content-Type": "text/html"}, PAGE))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Transfer-Encoding" not in headers:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.path == "/slow":
                    site.drip.wait(30)
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                """Say nothing: clients that refuse a reply hang up."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.port: int = self._server.server_address[1]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"

    def stop(self) -> None:
        self.drip.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.stop()


def fetch(link: str, policy: LinkPolicy, max_bytes: int = 2**20) -> Fetched:
    async def run() -> Fetched:
        async with LinkFetcher(policy, max_bytes) as fetcher:
            return await fetcher.fetch(link)

    return asyncio.run(run())


def code_of(link: str, policy: LinkPolicy, max_bytes: int = 2**20) -> ErrorCode:
    with pytest.raises(SteelyardError) as caught:
        fetch(link, policy, max_bytes)
    return caught.value.code


# `{port}` is the trap's port. The allow-list of this test names every host, as a careless operator's might.
HOSTILE = [
    # addresses of this machine, in every spelling that some client accepts
    "http://127.0.0.1:{port}/", "http://127.1:{port}/", "http://127.0.1:{port}/", "http://2130706433:{port}/",
    "http://0x7f000001:{port}/", "http://0x7f.0.0.1:{port}/", "http://0177.0.0.1:{port}/", "http://017700000001:{port}/",
    "http://127.000.000.001:{port}/", "http://127.0.0.1.:{port}/", "http://0:{port}/", "http://0.0.0.0:{port}/",
    "http://localhost:{port}/", "http://LOCALHOST:{port}/", "http://localhost.:{port}/", "http://[::1]:{port}/",
    "http://[::]:{port}/", "http://[0:0:0:0:0:0:0:1]:{port}/", "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/", "http://[::127.0.0.1]:{port}/", "http://[64:ff9b::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/", "http://[2001:0:7f00:1::1]:{port}/", "http://127.0.0.2:{port}/",
    "http://①②⑦.⓪.⓪.①:{port}/", "http://127。0。0。1:{port}/", "http://%31%32%37.0.0.1:{port}/",
    # private, link-local, shared, multicast and a cloud's own addresses
    "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.0.1/", "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/", "http://100.100.100.200/", "http://192.0.0.192/", "http://168.63.129.16/",
    "http://224.0.0.1/", "http://255.255.255.255/", "http://[fe80::1]/", "http://[fc00::1]/", "http://[fd00:ec2::254]/",
    "http://[fec0::1]/", "http://[ff02::1]/", "http://198.18.0.1/", "http://192.0.2.1/", "http://240.0.0.1/",
    # other schemes and things that hide one
    "file:///etc/passwd", "ftp://127.0.0.1:{port}/", "gopher://127.0.0.1:{port}/_GET", "dict://127.0.0.1:{port}/",
    "data:text/html,x", "javascript:alert(1)", "jar:http://127.0.0.1:{port}/!/", "unix:///var/run/docker.sock",
    "//127.0.0.1:{port}/", "/etc/passwd", "", "http:///path", "http://", "https:127.0.0.1:{port}",
    # user information, and what splits a request or a parser
    "http://docs.example.org@127.0.0.1:{port}/", "http://a:b@127.0.0.1:{port}/", "http://127.0.0.1:{port}\\@docs.example.org/",
    "http://127.0.0.1:{port}/\r\nX: y", "http://127.0.0.1 :{port}/", "http://127.0.0.1\t:{port}/", "\x00http://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}#@docs.example.org/", "http://127.0.0.1:99999/", "http://127.0.0.1:-1/",
    "http://[127.0.0.1]:{port}/", "http://docs.example.org:80:{port}/",
]  # fmt: skip


@pytest.mark.parametrize("link", HOSTILE)
def test_a_hostile_link_reaches_nothing(site: Site, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not even the allow-list is in the way: what is left has to hold alone.
    monkeypatch.setattr("steelyard_dataprep.links.policy._covers", lambda entry, asked: True)
    assert code_of(link.format(port=site.port), LinkPolicy(("any",))) in {ErrorCode.LINK_REFUSED, ErrorCode.LINK_FAILED}
    assert site.hits == []


def test_there_are_at_least_sixty_hostile_links() -> None:
    assert len(set(HOSTILE)) >= 60


# Without a host of its own a redirect stays on the server that it comes from.
@pytest.mark.parametrize("link", [link for link in HOSTILE if link not in {"/etc/passwd", "http:///path"}])
def test_a_redirect_to_a_hostile_link_reaches_nothing(site: Site, link: str) -> None:
    target = link.format(port=site.port).replace("\r\n", "%0d%0a")
    # The first hop is a test's own server; its network is allowed, its host and port too, and nothing else.
    trap = Site()
    try:
        elsewhere = target.replace(str(site.port), str(trap.port))
        site.pages["/start"] = (302, {"Location": elsewhere.encode("utf-8", "ignore").decode("latin-1")}, b"")
        code = code_of(f"{site.url}/start", LinkPolicy((site.host,), LOOPBACK))
    finally:
        trap.stop()
    assert code in {ErrorCode.LINK_REFUSED, ErrorCode.LINK_FAILED}
    assert trap.hits == []
    assert site.hits[0] == "/start"


@pytest.mark.parametrize(
    "answers", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::1"], ["10.1.2.3"], ["::ffff:127.0.0.1"]]
)
def test_a_name_is_refused_when_any_of_its_addresses_is_not_public(
    site: Site, answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, [answers])
    assert (
        code_of(f"http://docs.example.org:{site.port}/", LinkPolicy((f"docs.example.org:{site.port}",)))
        is ErrorCode.LINK_REFUSED
    )
    assert site.hits == []


def test_a_name_that_resolves_differently_a_moment_later_gains_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = resolving(monkeypatch, [["192.0.2.1"], ["127.0.0.1"]])
    policy = LinkPolicy((f"docs.example.org:{site.port}",), (ipaddress.ip_network("192.0.2.0/24"),))
    monkeypatch.setattr(fetching, "_CONNECT_S", 0.2)
    assert code_of(f"http://docs.example.org:{site.port}/", policy) is ErrorCode.LINK_FAILED
    # One look-up for one connection: there is no second answer to be trusted.
    assert asked == ["docs.example.org"]
    assert site.hits == []


def resolving(monkeypatch: pytest.MonkeyPatch, answers: list[list[str]]) -> list[str]:
    """Let names resolve to each list of addresses in turn; the names that were asked for are returned."""
    asked: list[str] = []

    async def resolve(self: Any, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
        asked.append(host)
        return [
            {
                "hostname": host, "host": address, "port": port, "proto": 0, "flags": socket.AI_NUMERICHOST,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
            }
            for address in answers[min(len(asked), len(answers)) - 1]
        ]  # fmt: skip

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", resolve)
    return asked


def test_a_page_is_fetched_and_named_by_what_the_server_says(site: Site) -> None:
    policy = LinkPolicy((site.host,), LOOPBACK)
    assert fetch(f"{site.url}/handbook?page=1#top", policy) == Fetched(PAGE, "handbook.html")
    site.pages["/notes.md"] = (200, {"Content-Type": "text/plain; charset=utf-8"}, b"# Notes")
    assert fetch(f"{site.url}/notes.md", policy).read_as == "notes.md"
    site.pages["/raw"] = (200, {"Content-Type": "text/plain"}, b"words")
    assert fetch(f"{site.url}/raw", policy).read_as == "raw.txt"
    site.pages["/paper"] = (200, {"Content-Type": "application/pdf"}, b"%PDF-")
    assert fetch(f"{site.url}/paper", policy).read_as == "paper.pdf"
    assert site.hits[0] == "/handbook?page=1"


def test_a_redirect_within_the_allow_list_is_followed_and_one_out_of_it_is_not(site: Site) -> None:
    policy = LinkPolicy((site.host,), LOOPBACK)
    site.pages["/old"] = (301, {"Location": "/new"}, b"")
    assert fetch(f"{site.url}/old", policy).data == PAGE
    site.pages["/away"] = (302, {"Location": "http://elsewhere.example.org/"}, b"")
    assert code_of(f"{site.url}/away", policy) is ErrorCode.LINK_REFUSED
    site.pages["/loop"] = (302, {"Location": "/loop"}, b"")
    assert code_of(f"{site.url}/loop", policy) is ErrorCode.LINK_FAILED
    assert site.hits.count("/loop") == 6
    site.pages["/nowhere"] = (302, {}, b"")
    assert code_of(f"{site.url}/nowhere", policy) is ErrorCode.LINK_FAILED


@pytest.mark.parametrize(
    ("page", "code"),
    [
        ((200, {"Content-Type": "text/html"}, b"x" * 2000), ErrorCode.TOO_LARGE),
        ((200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, b"\x1f\x8b"), ErrorCode.LINK_FAILED),
        ((404, {"Content-Type": "text/html"}, b"no"), ErrorCode.LINK_FAILED),
        ((204, {}, b""), ErrorCode.LINK_FAILED),
        ((200, {"Content-Type": "image/png"}, b"\x89PNG"), ErrorCode.UNSUPPORTED_TYPE),
        ((200, {"Content-Type": "text/html", "Transfer-Encoding": "chunked"}, b"5\r\nwor"), ErrorCode.LINK_FAILED),
    ],
)
def test_what_is_no_document_is_refused(site: Site, page: tuple[int, dict[str, str], bytes], code: ErrorCode) -> None:
    site.pages["/page"] = page
    assert code_of(f"{site.url}/page", LinkPolicy((site.host,), LOOPBACK), max_bytes=1000) is code


def test_a_server_that_does_not_answer_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_TOTAL_S", 0.2)
    assert code_of(f"{site.url}/slow", LinkPolicy((site.host,), LOOPBACK)) is ErrorCode.LINK_FAILED


@pytest.mark.parametrize(
    ("entry", "link", "allowed"),
    [
        ("docs.example.org", "https://docs.example.org/a", True),
        ("docs.example.org", "https://DOCS.example.org./a", True),
        ("Docs.Example.org", "https://docs.example.org/a", True),
        ("docs.example.org", "https://docs.example.org:8443/a", False),
        ("docs.example.org:8443", "https://docs.example.org:8443/a", True),
        ("docs.example.org", "https://docs.example.org.evil.net/a", False),
        ("docs.example.org", "https://evil-docs.example.org/a", False),
        ("*.example.org", "https://docs.example.org/a", True),
        ("*.example.org", "https://a.b.example.org/a", True),
        ("*.example.org", "https://example.org/a", False),
        ("*.example.org", "https://evilexample.org/a", False),
        ("bücher.example.org", "https://xn--bcher-kva.example.org/a", True),
        ("docs.example.org", "http://docs.example.org:443/a", False),
    ],
)
def test_a_host_is_compared_whole(entry: str, link: str, allowed: bool) -> None:
    policy = LinkPolicy((entry,))
    if allowed:
        assert policy.checked_url(link).path == "/a"
        return
    with pytest.raises(SteelyardError) as caught:
        policy.checked_url(link)
    assert caught.value.code is ErrorCode.LINK_REFUSED


def test_nothing_is_allowed_without_a_list() -> None:
    assert not LinkPolicy().enabled
    with pytest.raises(SteelyardError):
        LinkPolicy().checked_url("https://docs.example.org/")
