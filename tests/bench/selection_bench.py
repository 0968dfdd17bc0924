"""Time `adaptive` against two implementations of maximal marginal relevance (MMR), side by side in one run.

Needs an environment of its own, because the product installs none of its competitors:

    python -m venv VENV && VENV/bin/pip install --require-hashes -r requirements/bench.lock
    PYTHONPATH=services/reranker/src:services/contracts/src VENV/bin/python tests/bench/selection_bench.py [--json]

All contestants see the same 100 candidates of 1024 dimensions and keep the same number of them. They take turns
within each round, so that a busy machine is busy for all; a turn is one run to warm the caches and one that is timed.
What they do differs:

* `select` starts from the candidates and vectors by chunk id, aligns, checks and normalises the vectors, drops
  duplicate texts (of about 1,000 characters), and returns a decision with nine numbers about every candidate;
* `adaptive` is its core: unit vectors in, the reason and the nine numbers of every candidate out;
* pyversity returns indices and scores of the kept, from raw vectors (as `select`) or unit vectors (as `adaptive`);
* LangChain returns indices of the kept, from one matrix, which it takes faster than the usual list of lists.

With BLAS threads on a busy machine, matrix products wait for a core: LangChain's time is then mostly waiting. Run with
OPENBLAS_NUM_THREADS=1 to see the arithmetic; `adaptive` starts no BLAS threads either way.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from steelyard_contracts.enums import Reason
from steelyard_reranker.selection import Candidate, Candidates, Embeddings, SelectionSettings, select
from steelyard_reranker.selection.adaptive import adaptive_reasons

try:
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
    from pyversity import Strategy, diversify
except ImportError as missing:
    sys.exit(f"{missing.name} is not installed: this benchmark needs requirements/bench.lock, see its docstring")

CANDIDATES, DIMENSIONS, WORDS = 100, 1024, 190
# The published confusion weight keeps few of so many scores; these keep about twenty.
SETTINGS = SelectionSettings(confusion_cost_weight=0.25, min_value_threshold=0.28)


def contestants() -> tuple[int, dict[str, Callable[[], object]]]:
    """Return how many are kept and, by name, what is timed."""
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(CANDIDATES, DIMENSIONS)).astype(np.float32)
    matrix[CANDIDATES // 2 :] += 0.8 * matrix[: CANDIDATES // 2]  # each of the second half resembles one of the first
    query = matrix.mean(axis=0)
    scores = rng.uniform(size=CANDIDATES)
    vocabulary = ["pump", "seal", "valve", "torque", "of", "the", "inspect", "weekly"]
    candidates = Candidates.from_records(
        Candidate(f"chunk-{index}", float(score), 200, " ".join(rng.choice(vocabulary, size=WORDS)), index)
        for index, score in enumerate(scores)
    )
    embeddings = Embeddings({f"chunk-{index}": row for index, row in enumerate(matrix)}, query)

    order, _ = candidates.canonical_order()
    ordered_scores, token_counts = candidates.scores[order], candidates.token_counts[order]
    aligned = embeddings.align([candidates.chunk_ids[index] for index in order])
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)

    selection = select("adaptive", candidates, SETTINGS, embeddings)
    reasons = [decision.reason for decision in selection.decisions]
    if Reason.DUPLICATE in reasons:
        raise RuntimeError("the random texts are meant to differ")
    kept = len(selection.kept)
    return kept, {
        "steelyard select": lambda: select("adaptive", candidates, SETTINGS, embeddings),
        "steelyard adaptive": lambda: adaptive_reasons(ordered_scores, token_counts, aligned, SETTINGS),
        "pyversity MMR, raw vectors": lambda: diversify(matrix, scores, kept, Strategy.MMR, 0.5),
        "pyversity MMR, unit vectors": lambda: diversify(unit, scores, kept, Strategy.MMR, 0.5, normalize=False),
        "LangChain MMR": lambda: maximal_marginal_relevance(query, unit, 0.5, kept),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time adaptive selection against MMR implementations.")
    parser.add_argument("--rounds", type=int, default=100, help="timings per contestant (default 100)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {arguments.rounds}")

    kept, timed = contestants()
    seconds: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(arguments.rounds):
        for name, run in timed.items():
            run()
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(series) * 1e3 for name, series in seconds.items()}
    fastest = {name: min(series) * 1e3 for name, series in seconds.items()}

    if arguments.json:
        setup = {"n": CANDIDATES, "k": kept, "d": DIMENSIONS, "rounds": arguments.rounds, "numpy": np.__version__}
        print(json.dumps({"setup": setup, "median_ms": medians, "min_ms": fastest}, indent=2))
        return
    print(f"n={CANDIDATES} k={kept} d={DIMENSIONS}, {arguments.rounds} rounds, numpy {np.__version__}\n")
    print(f"{'':28} {'median ms':>10} {'min ms':>9} {'/ select':>9} {'/ adaptive':>11}")
    for name, median in medians.items():
        over_select, over_adaptive = median / medians["steelyard select"], median / medians["steelyard adaptive"]
        print(f"{name:28} {median:10.3f} {fastest[name]:9.3f} {over_select:9.2f} {over_adaptive:11.2f}")


if __name__ == "__main__":
    main()
