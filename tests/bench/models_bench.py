"""Figures of the embedded models on this machine: `python tests/bench/models_bench.py [--llm NAME]`."""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from openai import OpenAI

from steelyard_models.cache import locate
from steelyard_models.encoder import OnnxTextEncoder
from steelyard_models.late_interaction import maxsim
from steelyard_models.local_reranker import LateInteractionReranker

SYSTEM = "You answer questions using only the numbered context. Answer in one short sentence."
QUESTIONS = {"cold": "How tall is lighthouse 3?", "cached prefix": "When was lighthouse 5 built?"}
QUERY = "When was the lighthouse on the northern cape built?"


def passage(encoder: OnnxTextEncoder, tokens: int, seed: int) -> str:
    """A text of about `tokens` tokens in which every sentence differs."""
    parts: list[str] = []
    while encoder.tokenizer.count(" ".join(parts)) < tokens - 15:
        number = len(parts) + 100 * seed
        parts.append(f"Lighthouse {number} on cape {number % 7} was built in {1800 + number % 90} of grey stone.")
    return " ".join(parts)


def seconds(call: Callable[[], object], repeats: int) -> float:
    """Median wall time of `call` after one warm-up."""
    call()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return median(times)


def bench_encoder(threads: int) -> None:
    encoder = OnnxTextEncoder(locate("all-minilm-l6-v2"), threads=threads)
    print(f"encoder, {threads} threads:")
    for tokens in (100, 200):
        texts = [passage(encoder, tokens, seed) for seed in range(32)]
        took = seconds(lambda texts=texts: encoder.embed(texts), 3)  # type: ignore[misc]
        length = np.mean(encoder.tokenizer.count_many(texts))
        print(f"  {len(texts) / took:6.1f} texts/s of {length:.0f} tokens (batch of {len(texts)}, n 3)")
    print(f"  {1000 * seconds(lambda: encoder.embed([QUERY]), 30):6.1f} ms a query (n 30)")
    candidates = [passage(encoder, 200, seed) for seed in range(20)]
    (query,) = encoder.token_vectors([QUERY])
    documents = encoder.token_vectors(candidates)
    took = seconds(lambda: [maxsim(query, document) for document in documents], 30) / len(documents)
    print(f"  {1000 * took:6.3f} ms MaxSim a pair of {len(query)} and {len(documents[0])} tokens (n 30)")
    reranker = LateInteractionReranker(encoder)
    print(
        f"  {1000 * seconds(lambda: reranker.scores(QUERY, candidates), 3):6.0f} ms rerank of 20 such candidates (n 3)"
    )
    print(f"  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:6.0f} MB resident at most")


def bench_llm(name: str, threads: int) -> None:
    command = [sys.executable, "-m", "steelyard_models.llm_server", "--model", name, "--threads", str(threads)]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        print(f"{name}, {threads} threads: ready after {time.perf_counter() - started:.1f} s")
        facts = "\n".join(
            f"[{i}] Lighthouse {i} stands on cape {i % 7}, was built in {1800 + i} and is {20 + i} metres tall."
            for i in range(18)
        )
        with OpenAI(base_url=f"{ready['url']}/v1", api_key="unused", timeout=600) as client:
            for label, question in QUESTIONS.items():
                ask(client, label, f"Context:\n{facts}\n\nQuestion: {question}")
        memory = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").split("VmHWM:")[1].split()[0]
        print(f"  {int(memory) / 1024:6.0f} MB resident at most")
        process.terminate()


def ask(client: OpenAI, label: str, prompt: str) -> None:
    started = time.perf_counter()
    first, usage, text = None, None, ""
    for chunk in client.chat.completions.create(
        model="local",
        messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}],
        max_tokens=64,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    ):
        usage = chunk.usage or usage
        if chunk.choices and chunk.choices[0].delta.content:
            first = first or time.perf_counter()
            text += chunk.choices[0].delta.content
    assert first is not None
    assert usage is not None
    rate = (usage.completion_tokens - 1) / (time.perf_counter() - first)
    print(
        f"  {label:<13} first token {first - started:5.2f} s of {usage.prompt_tokens} prompt tokens,"
        f" then {rate:4.1f} tokens/s over {usage.completion_tokens} (n 1): {text!r}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llm", action="append", default=[], help="also measure this LLM (repeatable)")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    bench_encoder(options.threads)
    for name in options.llm:
        bench_llm(name, options.threads)


if __name__ == "__main__":
    main()
