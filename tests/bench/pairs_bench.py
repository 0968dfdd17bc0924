"""What measuring long texts costs, and how long it holds up an event loop: `python -m tests.bench.pairs_bench`.

20 documents of 50 KB each, and one of 1 MB, are planned in the reranker's worker thread while the event loop only
looks at the clock. Every gap between two looks is time in which the service would answer nobody.
"""

import asyncio
import time
from collections.abc import Callable

from steelyard_contracts.enums import PairPolicy
from steelyard_models.cache import locate
from steelyard_models.tokenizer import TextTokenizer
from steelyard_reranker.pairs import CrossEncoderFormat, PairPlanner, PairSettings, Passage, Plan
from steelyard_runtime.blocking import Workers

QUERY = "Which seal is approved for AX-104-B?"
_LOOK_S = 0.001


def document(chars: int, number: int) -> str:
    """Words and numbers that repeat nowhere near."""
    words = (
        f"pump {i} of line {number} is inspected every {i % 900} hours for torque {i * 7 % 501}" for i in range(chars)
    )
    made: list[str] = []
    length = 0
    for sentence in words:
        made.append(sentence)
        length += len(sentence) + 2
        if length >= chars:
            break
    return ". ".join(made)[:chars]


async def longest_gap(work: Callable[[], object]) -> tuple[float, float]:
    """Run `work` in a worker; return the longest gap of the loop and the time it took, in seconds."""
    workers = Workers("planning", 1)
    try:
        running = asyncio.ensure_future(workers.run(work))
        started = last = time.perf_counter()
        longest = 0.0
        while not running.done():
            await asyncio.sleep(_LOOK_S)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        await running
        return longest, last - started
    finally:
        workers.close()


def main() -> None:
    tokenizer = TextTokenizer(locate("all-minilm-l6-v2"))
    made = CrossEncoderFormat(tokenizer, 512)
    many = [Passage(str(number), document(50_000, number)) for number in range(20)]
    one = [Passage("0", document(1_000_000, 0))]
    idle, _ = asyncio.run(longest_gap(lambda: time.sleep(1)))
    print(f"longest gap of the event loop while nothing is planned: {1000 * idle:.0f} ms (1 s)")
    for name, passages in (("20 texts of 50 KB", many), ("one text of 1 MB", one)):
        for policy in (PairPolicy.TRUNCATE, PairPolicy.WINDOWS):
            planner = PairPlanner(made, PairSettings(long_document=policy))
            plans = planner.plans(QUERY, passages)
            tokens = sum(plan.text_tokens or 0 for plan in plans if isinstance(plan, Plan))
            pieces = sum(len(plan.pieces) for plan in plans if isinstance(plan, Plan))
            runs = [asyncio.run(longest_gap(lambda p=planner, t=passages: p.plans(QUERY, t))) for _ in range(3)]  # type: ignore[misc]
            gap, took = max(gap for gap, _ in runs), min(took for _, took in runs)
            print(
                f"{name}, {policy}: {tokens} tokens in {took:.2f} s, {pieces} pairs;"
                f" longest gap of the event loop {1000 * gap:.0f} ms (n 3)"
            )


if __name__ == "__main__":
    main()
