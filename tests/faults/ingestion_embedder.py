"""The embedding service's double: a real HTTP server whose vectors depend on the text alone."""

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from steelyard_models.catalogue import load_catalogue

DIMENSION = 16
TOKENIZER = next(file.sha256 for file in load_catalogue().default("embedding").files if file.name == "tokenizer.json")
"""What dataprep measures with when nothing is set."""
MODEL = {"id": "double", "revision": "1", "dimension": DIMENSION, "tokenizer": TOKENIZER}


def vector_of(text: str) -> np.ndarray:
    """The vector of a text, float32 [DIMENSION]: what a store holds for it if nothing was mixed up."""
    digest = hashlib.blake2b(text.encode(), digest_size=DIMENSION).digest()
    return (np.frombuffer(digest, dtype=np.uint8).astype(np.float32) + 1.0) / 256.0


class EmbedderDouble:
    """Speaks `GET /info` and `POST /v1/embeddings`.

    While `gate` is closed, requests for vectors wait; `waiting` says that one does. `texts` counts what was embedded,
    and `embedded` says that something was.
    """

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.waiting = threading.Event()
        self.embedded = threading.Event()
        self.texts = 0
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> "EmbedderDouble":
        """Serve on a free port."""
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer({"limits": {"max_tokens": 512}, "models": {"embedding": MODEL}})

            def do_POST(self) -> None:
                texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
                if not double.gate.is_set():
                    double.waiting.set()
                    double.gate.wait(60)
                double.texts += len(texts)
                data = [
                    {
                        "object": "embedding",
                        "index": index,
                        "embedding": base64.b64encode(vector_of(text).astype("<f4").tobytes()).decode(),
                    }
                    for index, text in enumerate(texts)
                ]
                usage = {"prompt_tokens": 0, "total_tokens": 0}
                self._answer({"object": "list", "model": MODEL["id"], "data": data, "usage": usage})
                double.embedded.set()

            def _answer(self, value: object) -> None:
                body = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                """Say nothing: the clients of these tests are killed in the middle of a request."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def hold(self) -> None:
        """Let the next request for vectors wait until `release`."""
        self.waiting.clear()
        self.gate.clear()

    def release(self) -> None:
        """Answer what waits."""
        self.gate.set()

    def stop(self) -> None:
        """End the server."""
        self.gate.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
