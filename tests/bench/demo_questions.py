"""The demo corpus's questions, asked of a running gateway: what was found, sent, answered and abstained from.

    python -m tests.bench.demo_questions [--inspect] [--url http://127.0.0.1:8888]

`--inspect` asks no model. The corpus must have been ingested: `steelyard up`, then `steelyard ingest examples/corpus`.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import requests

QUESTIONS = Path(__file__).parents[2] / "examples" / "questions.json"
TIMEOUT_S = 600


def normalised(text: str) -> str:
    return " ".join(text.split())


def reached(question: dict[str, Any], texts: list[str]) -> bool:
    """Whether for every fact one of its annotated quotes is in `texts`."""
    facts: dict[int, bool] = {}
    for evidence in question["evidence"]:
        found = any(normalised(evidence["quote"]) in normalised(text) for text in texts)
        facts[evidence["fact"]] = facts.get(evidence["fact"], False) or found
    return bool(facts) and all(facts.values())


def ledger_of(url: str, question: str, *, inspect: bool) -> dict[str, Any]:
    """The ledger of one question, with `abstained` beside it when the model was asked."""
    if inspect:
        reply = requests.post(f"{url}/v1/inspect", json={"messages": question}, timeout=TIMEOUT_S)
        reply.raise_for_status()
        return dict(reply.json())
    body = {"messages": question, "stream": False}
    reply = requests.post(f"{url}/v1/chatqna", json=body, timeout=TIMEOUT_S)
    reply.raise_for_status()
    extension = reply.json()["steelyard"]
    kept = requests.get(f"{url}/v1/ledgers/{extension['ledger_id']}", timeout=TIMEOUT_S)
    kept.raise_for_status()
    return {**kept.json(), "abstained": extension.get("abstained")}


def summary(question: dict[str, Any], ledger: dict[str, Any]) -> dict[str, Any]:
    """What became of one question's evidence."""
    sent = [entry for entry in ledger["entries"] if entry["fate"] == "sent"]
    texts = {one["chunk_id"]: one["text"] for one in ledger["evidence"]}
    return {
        "found": reached(question, list(texts.values())),
        "sent": reached(question, [texts[entry["chunk_id"]] for entry in sent]),
        "chunks": len(sent),
        "tokens": sum(entry["value"]["token_count"] for entry in sent if entry.get("value")),
        "best": max((entry["scores"].get("rerank", 0.0) for entry in ledger["entries"]), default=0.0),
    }


def main() -> None:
    """Ask all and print a line each, then the totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8888")
    parser.add_argument("--inspect", action="store_true", help="find and select evidence without asking the model")
    options = parser.parse_args()
    rows: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = []
    for question in json.loads(QUESTIONS.read_text(encoding="utf-8"))["questions"]:
        started = time.monotonic()
        ledger = ledger_of(options.url, question["question"], inspect=options.inspect)
        row = summary(question, ledger)
        rows.append((question, ledger, row))
        facts = f"found {row['found']:d} sent {row['sent']:d} chunks {row['chunks']} tokens {row['tokens']}"
        print(f"{question['id']:20} {facts} best {row['best']:.2f}, {time.monotonic() - started:.1f} s")
        if not options.inspect:
            print(f"    {ledger.get('abstained') or ''} {ledger['answer'][:150]!r}")
            print(f"    {ledger.get('original_answer', '')[:150]!r}; expected {question['answer']!r}", flush=True)
    answerable = [(ledger, row) for question, ledger, row in rows if question["answerable"]]
    others = [ledger for question, ledger, _ in rows if not question["answerable"]]
    print(
        f"of {len(answerable)} answerable questions: evidence found for {sum(row['found'] for _, row in answerable)},"
        f" sent for {sum(row['sent'] for _, row in answerable)},"
        f" {sum(row['tokens'] for _, row in answerable) / len(answerable):.0f} tokens of evidence on average"
    )
    if not options.inspect:
        print(
            f"answered {sum(ledger['abstained'] is None for ledger, _ in answerable)} of {len(answerable)} answerable,"
            f" abstained from {sum(ledger['abstained'] is not None for ledger in others)} of {len(others)} others"
        )


if __name__ == "__main__":
    main()
