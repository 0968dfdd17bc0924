"""`make bench`: every benchmark in turn; figures are printed, nothing is asserted.

The selection benchmark compares with pyversity and LangChain, which live in an environment of their own
(`.venv-bench`, from requirements/bench.lock), because the product and its tests must not depend on them.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARTNERS = ROOT / ".venv-bench"


def partners() -> str:
    """The Python of the environment with the comparison partners; made on first use."""
    python = PARTNERS / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PARTNERS)], check=True)
        lock = ROOT / "requirements" / "bench.lock"
        subprocess.run([str(python), "-m", "pip", "install", "-q", "--require-hashes", "-r", str(lock)], check=True)
    return str(python)


def main() -> int:
    """Run all; returns the number of benchmarks that failed."""
    sources = ":".join(str(path) for path in sorted((ROOT / "services").glob("*/src")))
    failed = 0
    for title, command, environment in (
        ("selection against MMR", [partners(), "tests/bench/selection_bench.py"], {"PYTHONPATH": sources}),
        ("embedded store", [partners(), "tests/bench/store_bench.py"], {"PYTHONPATH": sources}),
        ("clients of the ArangoDB store", [sys.executable, "-m", "tests.bench.arangodb_client_bench"], {}),
        ("ingestion by format", [sys.executable, "-m", "tests.bench.ingestion_bench", "formats"], {}),
        ("models", [sys.executable, "-m", "tests.bench.models_bench"], {}),
        ("measuring pairs", [sys.executable, "-m", "tests.bench.pairs_bench"], {}),
        ("reranking batches", [sys.executable, "-m", "tests.bench.rerank_bench"], {}),
        ("gateway over stubs", [sys.executable, "-m", "tests.bench.gateway_bench"], {}),
    ):
        print(f"\n=== {title}", flush=True)
        failed += subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False).returncode != 0
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
