"""The demo corpus's questions, asked of a running gateway: what was found, sent, answered and abstained from.

    python -m tests.bench.demo_questions [--url http://127.0.0.1:8888]

The corpus must have been ingested (`make demo` with `--keep`, or `steelyard up` and `steelyard ingest examples/corpus`).
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import requests

QUESTIONS = Path(__file__).parents[2] / "examples" / "questions.json"


def normalised(text: str) -> str:
    return " ".join(text.split())


def reached(question: dict[str, Any], texts: list[str]) -> bool:
    """Whether for every fact one of its annotated quotes is in `texts`."""
    facts: dict[int, bool] = {}
    for evidence in question["evidence"]:
        found = any(normalised(evidence["quote"]) in normalised(text) for text in texts)
        facts[evidence["fact"]] = facts.get(evidence["fact"], False) or found
    return bool(facts) and all(facts.values())


def main() -> None:
    """Ask all and print a line each, then the totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8888")
    url = parser.parse_args().url
    counts = {"retrieved": 0, "sent": 0, "answered": 0, "abstained": 0, "answerable": 0, "held back": 0}
    for question in json.loads(QUESTIONS.read_text(encoding="utf-8"))["questions"]:
        started = time.monotonic()
        body = {"model": "steelyard", "messages": [{"role": "user", "content": question["question"]}]}
        reply = requests.post(f"{url}/v1/chat/completions", json=body, timeout=600).json()
        ledger = requests.get(f"{url}/v1/ledgers/{reply['steelyard']['ledger_id']}", timeout=60).json()
        sent = {entry["chunk_id"] for entry in ledger["entries"] if entry["fate"] == "sent"}
        texts = {one["chunk_id"]: one["text"] for one in ledger["evidence"]}
        in_candidates = reached(question, list(texts.values()))
        in_prompt = reached(question, [texts[one] for one in sent])
        abstained = reply["steelyard"].get("abstained")
        if question["answerable"]:
            counts["answerable"] += 1
            counts["retrieved"] += in_candidates
            counts["sent"] += in_prompt
            counts["answered"] += abstained is None
        else:
            counts["held back"] += 1
            counts["abstained"] += abstained is not None
        scores = [entry["scores"].get("rerank", 0.0) for entry in ledger["entries"]]
        print(
            f"{question['id']:20} found {in_candidates:d} sent {in_prompt:d} ({len(sent)} chunks, best {max(scores, default=0):.2f})"
            f" {time.monotonic() - started:5.1f} s  {abstained or ''}\n"
            f"    {reply['choices'][0]['message']['content'][:150]!r}"
            f"{' <- ' + repr(ledger.get('original_answer', '')[:120]) if ledger.get('original_answer') else ''}"
            f"\n    expected {question['answer']!r}; unsupported {[one['missing'] for one in reply['steelyard']['unsupported']]}",
            flush=True,
        )
    print(
        f"evidence among the candidates {counts['retrieved']}, in the prompt {counts['sent']}, answered"
        f" {counts['answered']} of {counts['answerable']} answerable; abstained {counts['abstained']} of"
        f" {counts['held back']} unanswerable"
    )


if __name__ == "__main__":
    main()
