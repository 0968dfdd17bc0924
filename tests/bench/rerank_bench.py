"""Pairs per CPU-second of our batching against plain padding, on the same weights, side by side in one process.

`python -m tests.bench.rerank_bench`. The weights are MiniLM's (the embedded default's), read as a cross-encoder is:
query and document in one input. Its output is thrown away, because only the time of the encoder is compared. `plain` is
what onnxruntime does without us: batches of 32 in the order given, each padded to its longest pair. Lengths are drawn
from log-normal distributions around 60 words, as chunks of real documents have them.
"""

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from steelyard_models.cache import locate
from steelyard_models.catalogue import load_catalogue
from steelyard_models.encoder import plan_batches
from steelyard_models.onnx_session import OnnxSession
from steelyard_models.tokenizer import TextTokenizer

MODEL = "all-minilm-l6-v2"
PLAIN_BATCH = 32
ROUNDS = 2
Plan = Callable[[Sequence[int]], Iterator[list[int]]]


def plain(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Batches of 32 in the order given."""
    for start in range(0, len(lengths), PLAIN_BATCH):
        yield list(range(start, min(start + PLAIN_BATCH, len(lengths))))


def run(session: OnnxSession, encoded: Sequence[tuple[list[int], list[int]]], plan: Plan) -> tuple[float, int]:
    """CPU seconds for all pairs, and the tokens that the model was given, padding included."""
    started = time.process_time()
    given = 0
    lengths = [len(ids) for ids, _ in encoded]
    for rows in plan(lengths):
        shape = (len(rows), max(lengths[row] for row in rows))
        ids, mask, types = (np.zeros(shape, np.int64) for _ in range(3))
        for i, row in enumerate(rows):
            ids[i, : lengths[row]], types[i, : lengths[row]] = encoded[row]
            mask[i, : lengths[row]] = 1
        session.run({"input_ids": ids, "attention_mask": mask, "token_type_ids": types})
        given += ids.size
    return time.process_time() - started, given


def main() -> None:
    """Print one line per kind of candidate list."""
    folder = locate(MODEL, None)
    tokenizer, session = TextTokenizer(folder), OnnxSession(folder / "model.onnx", 1)
    limit = load_catalogue().model(MODEL).max_tokens
    words = ["the", "grease", "of", "a", "bearing", "is", "renewed", "every", "year", "pump", "valve"]
    draw = np.random.default_rng(5)
    print("pairs per CPU-second, one thread, best of two; ratio = ours / plain")
    for name, spread in (("equal lengths", 0.0), ("chunks of one chunker", 0.5), ("chunks of mixed sources", 1.0)):
        sizes = np.clip(draw.lognormal(np.log(60), spread, 64), 4, limit - 20).astype(int)
        documents = [" ".join(draw.choice(words, size=int(size))) for size in sizes]
        encoded = tokenizer.encode_pair_inputs("which grease does the pump need", documents)
        run(session, encoded[:4], plain)
        times: dict[str, list[tuple[float, int]]] = {"ours": [], "plain": []}
        for _ in range(ROUNDS):
            times["ours"].append(run(session, encoded, plan_batches))
            times["plain"].append(run(session, encoded, plain))
        (ours, ours_given), (theirs, plain_given) = min(times["ours"]), min(times["plain"])
        tokens = sum(len(ids) for ids, _ in encoded)
        print(
            f"{name:24} n={len(documents)} tokens={tokens}  ours {len(documents) / ours:6.1f} (padding"
            f" {ours_given / tokens - 1:4.0%})  plain {len(documents) / theirs:6.1f} (padding"
            f" {plain_given / tokens - 1:4.0%})  ratio {theirs / ours:4.2f}"
        )


if __name__ == "__main__":
    main()
