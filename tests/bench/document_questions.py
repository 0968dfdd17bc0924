"""Questions that only one document of the demo corpus answers, asked of a running gateway and graded by patterns.

    python -m tests.bench.document_questions [--url http://127.0.0.1:8888] [--json FILE]

An answer is right when it has all of `right` and none of `wrong` (a value of another revision). The corpus must have
been ingested: `steelyard up`, then `steelyard ingest examples/corpus`.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from tests.bench.demo_questions import ledger_of

QUESTIONS = Path(__file__).with_suffix(".json")


def grade(question: dict[str, Any], ledger: dict[str, Any]) -> str:
    """`right`, `wrong`, or `abstained`; a wrong one of which something was marked is `wrong, marked`."""
    if ledger["abstained"] is not None:
        return "abstained"
    answer = ledger["answer"]

    def has(pattern: str) -> bool:
        return re.search(pattern, answer, re.IGNORECASE) is not None

    if all(map(has, question["right"])) and not any(map(has, question["wrong"])):
        return "right, marked" if ledger["unsupported"] else "right"
    return "wrong, marked" if ledger["unsupported"] else "wrong"


def main() -> None:
    """Ask all, print a line each and the totals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8888")
    parser.add_argument("--json", type=Path, help="file for question, grade and answer of each")
    options = parser.parse_args()
    rows = []
    tokens = 0
    for question in json.loads(QUESTIONS.read_text(encoding="utf-8"))["questions"]:
        ledger = ledger_of(options.url, question["question"], inspect=False)
        graded = grade(question, ledger)
        said = ledger.get("original_answer") or ledger["answer"]
        tokens += (ledger["budget"] or {"evidence": 0})["evidence"]
        rows.append({"id": question["id"], "grade": graded, "answer": said})
        print(f"{question['id']:20} {graded:14} {said[:120]!r}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
    counted = Counter(row["grade"] for row in rows)
    listed = ", ".join(f"{grade} {count}" for grade, count in sorted(counted.items()))
    print(f"of {len(rows)}: {listed}; {tokens} tokens of evidence in all prompts")


if __name__ == "__main__":
    main()
