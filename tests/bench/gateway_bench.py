"""Gateway CPU per request and per streamed token, and requests per second, over stub neighbours (4 hops, 64 tokens).

    python -m tests.bench.gateway_bench [--json] [--requests 300] [--concurrency 1 32 128] [--beside-opea]

`--beside-opea` measures the streamed chat of OPEA's megaservice (registry package `opea-comps` 1.5, in a throw-away
environment) over the same stubs, also when the model's first byte takes 100 ms.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.bench.gateway_stubs import TOKENS
from tests.bench.load import gateway, measure, stubs

PACKAGE = "opea-comps==1.5"
CHAT = "/v1/chat/completions"
QUESTION = {"messages": [{"role": "user", "content": "Which seal is approved for pump 0?"}], "model": "steelyard"}
STREAMED = {**QUESTION, "reranking_strategy": "slice", "stream": True}
SCENARIOS: dict[str, tuple[str, dict[str, Any]]] = {
    "inspect, slice": ("/v1/inspect", {"messages": "q", "reranking_strategy": "slice"}),
    "inspect, adaptive": ("/v1/inspect", {"messages": "q", "reranking_strategy": "adaptive"}),
    "chat, one piece": (CHAT, {**QUESTION, "reranking_strategy": "slice"}),
    "chat, streamed": (CHAT, STREAMED),
}

Rows = dict[str, dict[str, float]]


@contextmanager
def opea(python: str, port: int) -> Iterator[tuple[str, int]]:
    """OPEA's megaservice over the stubs on `port`; gives its address and its process."""
    script = Path(__file__).with_name("opea_megaservice.py")
    command = [python, "-W", "ignore", str(script), str(port)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder) as process,
    ):
        assert process.stdout is not None
        try:
            said = next(line for line in process.stdout if line.startswith("listening on "))
            # It writes a line for each request, which somebody has to read.
            threading.Thread(target=lambda: [None for _ in process.stdout or ()], daemon=True).start()
            yield f"http://127.0.0.1:{int(said.rsplit(' ', 1)[1])}", process.pid
        finally:
            process.terminate()


def environment(folder: str) -> str:
    """The Python of a new environment with OPEA's package."""
    python, uv = str(Path(folder) / "bin" / "python"), shutil.which("uv")
    if uv is None:
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
    else:
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, PACKAGE], check=True)
    return python


def ours(options: argparse.Namespace, rows: Rows) -> None:
    """Every scenario of the gateway."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        served = stack.enter_context(gateway(stack.enter_context(stubs()), folder, STEELYARD_MAX_CONCURRENCY="1024"))
        for name, (path, body) in SCENARIOS.items():
            for concurrency in options.concurrency:
                rows[f"{name}, {concurrency} at a time"] = measure(
                    served.url + path, served.process.pid, body, options.requests, concurrency
                )


def per_token(requests: int, rows: Rows) -> None:
    """What a further token of a stream costs, its share of the judging included: the difference of two lengths."""
    spent = []
    for tokens in (TOKENS, 4 * TOKENS):
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            port = stack.enter_context(stubs(tokens=tokens))
            served = stack.enter_context(gateway(port, folder, GROUNDEDNESS_POLICY="flag"))
            row = measure(served.url + CHAT, served.process.pid, STREAMED, requests, 8)
            rows[f"chat, streamed as it comes, {tokens} tokens, 8 at a time"] = row
            spent.append(row["cpu_ms_per_request"])
    rows["a streamed token"] = {"cpu_ms": round((spent[1] - spent[0]) / (3 * TOKENS), 3)}


def beside_opea(python: str, requests: int, rows: Rows) -> None:
    """The streamed chat of both, alternating so that both meet the same machine."""
    for first_byte_ms in (0, 100):
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            port = stack.enter_context(stubs(first_byte_ms))
            served = stack.enter_context(gateway(port, folder, STEELYARD_MAX_CONCURRENCY="1024"))
            theirs, pid = stack.enter_context(opea(python, port))
            few = requests if not first_byte_ms else max(50, requests // 5)
            label = f"first byte after {first_byte_ms} ms, 32 at a time"
            rows[f"steelyard, {label}"] = measure(served.url + CHAT, served.process.pid, STREAMED, requests, 32)
            rows[f"opea, {label}"] = measure(theirs + CHAT, pid, STREAMED, few, 32)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 32, 128])
    parser.add_argument("--beside-opea", action="store_true")
    parser.add_argument("--opea-python", help="Python of an environment that has opea-comps already")
    options = parser.parse_args()
    rows: Rows = {}
    ours(options, rows)
    per_token(options.requests, rows)
    if options.beside_opea:
        with tempfile.TemporaryDirectory(prefix="opea-bench-") as folder:
            beside_opea(options.opea_python or environment(folder), options.requests, rows)
    if options.json:
        print(json.dumps({"tokens_per_answer": TOKENS, "rows": rows}))
        return
    for name, row in rows.items():
        print(f"{name:52} " + "  ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
