"""An HTTP server that stands in for a service."""

import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _QuietServer(ThreadingHTTPServer):
    """Says nothing when a client closes its connection first: that would land in the output that a test reads."""

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@dataclass
class Call:
    """One request that a double got."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def file(self) -> tuple[str, bytes]:
        """Name and content of the multipart field `files`."""
        (part,) = [part for name, part in self._parts() if name == "files"]
        return part.get_filename(), part.get_payload(decode=True)

    def form(self) -> dict[str, str]:
        """The multipart fields that are texts."""
        return {name: part.get_payload(decode=True).decode() for name, part in self._parts() if name != "files"}

    def _parts(self) -> list[tuple[str, Any]]:
        parts = BytesParser(policy=HTTP).parsebytes(
            f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode() + self.body
        )
        return [(part.get_param("name", header="content-disposition"), part) for part in parts.iter_parts()]


Reply = tuple[int, dict[str, str], bytes | list[bytes]]


class Double:
    """An HTTP server in this process that stands in for a service and remembers what it was asked.

    `routes` maps `METHOD /path` to a reply or to a function of the call. A body that is a list is sent in chunks; its
    connection is closed after the last one without the final chunk when the headers have `X-Break`.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.routes: dict[str, Reply | Callable[[Call], Reply]] = {}
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                call = Call(self.command, self.path, headers, body)
                double.calls.append(call)
                found = double.routes.get(f"{self.command} {self.path}")
                if found is None:
                    found = (404, {}, problem("not_found", f"no route {self.command} {self.path}"))
                status, extra, content = found(call) if callable(found) else found
                self.send_response(status)
                for name, value in extra.items():
                    self.send_header(name, value)
                if isinstance(content, bytes):
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                    return
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for piece in content:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    self.wfile.flush()
                if "X-Break" in extra:
                    self.close_connection = True
                else:
                    self.wfile.write(b"0\r\n\r\n")

            do_GET = do_POST = handle_any  # noqa: N815  http.server looks for these names

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = _QuietServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def problem(code: str, detail: str, stage: str = "gateway", status: int = 500) -> bytes:
    """The body of a problem document."""
    return json.dumps(
        {
            "type": f"urn:steelyard:problem:{code}", "title": code, "status": status, "detail": detail, "code": code,
            "stage": stage, "request_id": "r-1", "errors": [],
        }
    ).encode()  # fmt: skip
