"""What the laboratory takes in and asks: the demonstration corpus, its question, and the golden ones beside it."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "What torque do the gland bolts of the AX-104-B pump need?"
EVIDENCE = "24 Nm"
EVIDENCE_IN = "service-bulletin-sb-031-rev-c.md"
_GOLDEN = 20


def golden_questions() -> list[str]:
    """The first 20 of the corpus's questions, the unanswerable ones among them."""
    listed = json.loads((ROOT / "examples/questions.json").read_text(encoding="utf-8"))["questions"]
    return [str(one["question"]) for one in listed[:_GOLDEN]]
