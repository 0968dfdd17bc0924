from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench" / "store_bench.py"


def test_the_benchmark_runs_and_reports_every_figure() -> None:
    command = [sys.executable, str(BENCH), "--chunks", "400", "--dimension", "16", "--runs", "3", "--json"]
    figures = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert figures["chunks"] == 400
    assert {name for name, value in figures.items() if value < 0} == set()
    assert {"vector_search_ms", "vector_search_cpu_ms", "numpy_search_ms", "numpy_search_cpu_ms"} <= set(figures)
    assert {"build_s", "disk_mib", "memory_mib", "embeddings_20_ms", "embeddings_100_ms"} <= set(figures)
