"""`python -m steelyard_models.llm_server`: a local OpenAI-compatible LLM server on llama.cpp, in the foreground.

Prints one JSON line on standard output when it answers, then serves until SIGTERM or SIGINT and exits with 0:

    {"event": "ready", "port": 41233, "url": "http://127.0.0.1:41233", "model": "...", "context": 4096, "slots": 2}

llama.cpp's own errors go to standard error. If `LLAMA_API_KEY` is set, every request except /health needs it as a
bearer token. The README of this distribution says which endpoints are served and how they behave.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .cache import locate
from .catalogue import load_catalogue
from .errors import LlmServerError, ModelError

_STOP = {signal.SIGTERM, signal.SIGINT}
# A disconnected client is noticed only between batches of prompt tokens: 64 take about a second on two cores (and cost
# no more CPU time per token than 512, within 10 %).
_BATCH_TOKENS = 64
# A stream that has no token yet sends an empty comment this often, so that a client's read timeout can be short.
_PING_SECONDS = 5
# Prompts of finished requests are kept in memory for re-use; llama.cpp's own default is 8 GiB.
_PROMPT_CACHE_MIB = 256


@dataclass(frozen=True, slots=True)
class LlmServerSettings:
    """`context` is in tokens per request; `slots` is how many requests are answered at a time; port 0 picks one."""

    model: Path
    alias: str
    host: str
    port: int
    threads: int
    context: int
    slots: int


def resolve_gguf(name_or_path: str, cache_dir: Path | None = None) -> tuple[Path, str]:
    """Return (file, alias) for a catalogue name or for the path of a `.gguf` file; never touches the network.

    Raises `UnknownModelError`, `ModelMissingError`, `ModelCorruptError`, or `LlmServerError` if it is no LLM.
    """
    path = Path(name_or_path)
    if path.suffix == ".gguf":
        if not path.is_file():
            raise LlmServerError(f"--model {name_or_path}: there is no such file")
        return path, path.stem
    model = load_catalogue().model(name_or_path)
    if model.role != "llm":
        raise LlmServerError(f"--model {name_or_path}: its role is {model.role!r}, not 'llm'")
    return locate(model.name, cache_dir) / model.files[0].name, model.name


def serve(settings: LlmServerSettings) -> None:
    """Start, print the ready line, wait for a stop signal. Raises `LlmServerError` if llama.cpp does not start.

    Must run in the main thread of its own process, before any OpenMP library is loaded.
    """
    # Waiting threads must sleep, not spin: under load 6 against 33 tokens/s. libgomp reads these when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    # Blocked before llama.cpp starts its threads, so that only sigwait below sees a stop signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    server = _start(settings)
    url = str(server.listening_address)
    parts = urlsplit(url)
    if parts.hostname is None or parts.port is None:
        raise LlmServerError(f"llama.cpp listens on {url!r}, which is no host and port")
    _await_health(parts.hostname, parts.port)
    ready = {
        "event": "ready",
        "port": parts.port,
        "url": url,
        "model": settings.alias,
        "context": settings.context,
        "slots": settings.slots,
    }
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()
    signal.sigwait(_STOP)


def _start(settings: LlmServerSettings) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(settings.model)
    params.model_alias = {settings.alias}
    params.hostnames = [settings.host]
    params.port = settings.port
    params.n_parallel = settings.slots
    params.n_ctx = settings.context * settings.slots  # llama.cpp divides it among the slots
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.n_threads_http = 2 * settings.slots + 2  # a waiting request holds one, and /health must still answer
    params.sse_ping_interval = _PING_SECONDS
    params.cache_prompt = True
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.fit_params = False
    params.endpoint_metrics = True
    params.endpoint_slots = False  # it shows other requests' parameters
    params.cors_origins = ""  # no browser page may call a server on the loopback interface
    params.ui = False
    params.verbosity = 1
    key = os.environ.get("LLAMA_API_KEY")
    if key:
        params.api_keys = [key]
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise LlmServerError(
            f"llama.cpp did not start {settings.model} on {settings.host}:{settings.port}; its reason is above: {error}"
        ) from error


def _await_health(address: str, port: int) -> None:
    """Make sure that the request loop runs: the address is known a moment earlier."""
    connection = HTTPConnection(address, port, timeout=60)  # not urllib, which would ask a proxy from the environment
    try:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        raise LlmServerError(f"{address}:{port} does not answer: {error}") from error
    finally:
        connection.close()
    if status != HTTPStatus.OK:
        raise LlmServerError(f"{address}:{port}/health answers {status}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse options, serve until a stop signal and return the exit code: 0 after a signal, 1 if it did not start."""
    options = _parser().parse_args(arguments)
    try:
        model, alias = resolve_gguf(options.model, options.cache_dir)
        serve(
            LlmServerSettings(
                model=model,
                alias=alias,
                host=options.host,
                port=options.port,
                threads=options.threads,
                context=options.context,
                slots=options.slots,
            )
        )
    except ModelError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    default = load_catalogue().default("llm").name
    parser = argparse.ArgumentParser(prog="python -m steelyard_models.llm_server", description="Local LLM server.")
    parser.add_argument("--model", default=default, help="name in the catalogue or path of a .gguf file (%(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=_within(0, 65535), default=0, help="0 picks a free port (%(default)s)")
    parser.add_argument(
        "--threads", type=_within(1, 256), default=os.cpu_count() or 1, help="CPU threads (%(default)s)"
    )
    parser.add_argument("--context", type=_within(256, 1 << 20), default=4096, help="tokens per request (%(default)s)")
    parser.add_argument("--slots", type=_within(1, 16), default=2, help="requests answered at a time (%(default)s)")
    parser.add_argument("--cache-dir", type=Path, help="default: STEELYARD_MODEL_DIR, else the user's cache")
    return parser


def _within(low: int, high: int) -> Any:
    def integer(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{value} is not between {low} and {high}")
        return value

    return integer


if __name__ == "__main__":
    code = main()
    if code == 0:
        # Only now, because a failure must leave by the front door, where llama.cpp's log thread writes its last lines.
        # After a stop signal, llama.cpp's destructor can block for ever while it holds the interpreter's lock; nothing
        # in memory needs saving.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    sys.exit(code)
