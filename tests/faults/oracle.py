"""The nonce oracle: a model's double that repeats what it was asked and shown, so that a wrong answer can be counted.

Every question carries a nonce, and so does every chunk. The double answers with the question's nonce, the SHA-256 of
the whole prompt and the nonces of the chunks in it, and remembers under which request id it was asked.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from tests.harness.llm_double import Messages, evidence_of

TOPICS = ("seal", "pump", "bolt", "belt", "gear", "hose")
_QUESTION_NONCE = re.compile(r"Q-[0-9]{10}")
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
"""Chunks have letters and questions digits: a reranker that compares tokens would take like ones for a hint."""
_CHUNK_NONCE = re.compile(r"C-[a-z]+-[a-p]{8}")


def document(topic: str) -> bytes:
    """One short document about `topic`, with its nonce in the sentence that answers."""
    nonce = hashlib.sha256(topic.encode()).hexdigest()[:8].translate(_LETTERS)
    return f"# {topic}\n\nThe part number of the {topic} is C-{topic}-{nonce}.\n".encode()


def question(topic: str, cell: str) -> str:
    return (
        f"What is the part number of the {topic}? Q-{int(hashlib.sha256(cell.encode()).hexdigest(), 16) % 10**10:010d}"
    )


def chunk_nonces(text: str) -> list[str]:
    return _CHUNK_NONCE.findall(text)


def prompt_hash(messages: Messages) -> str:
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()


def echo(messages: Messages) -> str:
    """What the double answers."""
    asked = _QUESTION_NONCE.findall(messages[-1]["content"])[-1]
    shown = [nonce for text in evidence_of(messages) for nonce in chunk_nonces(text)]
    return f"{asked} {prompt_hash(messages)} " + " ".join(shown)


@dataclass(frozen=True)
class Verdict:
    """What one reply is: `right`, `degraded` (right, and says what it lacks), `error`, or a violation in words."""

    kind: str
    detail: str = ""


def judge(topic: str, asked: str, status: int, body: bytes, *, stream: bool) -> Verdict:
    """Judge a reply to `asked`. Whatever claims to be an answer must be the whole answer to this very question."""
    if status != 200:
        problem = json.loads(body)
        said = problem.get("error", problem)
        if not said.get("code") or not said.get("stage"):
            return Verdict("an error without a code or a stage", str(status))
        return Verdict("error", f"{status} {said['code']} {said['stage']}")
    if stream:
        events = [one.removeprefix("data: ") for one in body.decode().split("\n\n") if one]
        chunks = [json.loads(one) for one in events if one != "[DONE]"]
        if events[-1] != "[DONE]":
            finished = [choice for chunk in chunks for choice in chunk.get("choices", []) if choice["finish_reason"]]
            if "error" in chunks[-1] and not finished:
                return Verdict("error", f"in the stream: {chunks[-1]['error']['code']}")
            return Verdict("a stream that ends neither with [DONE] nor with an error")
        if any("error" in chunk for chunk in chunks):
            return Verdict("an error event before [DONE]")
        text = "".join(choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"])
        extension = chunks[-1]["steelyard"]
    else:
        whole = json.loads(body)
        text, extension = whole["choices"][0]["message"]["content"], whole["steelyard"]
    return _judge_answer(topic, asked, text, extension)


def _judge_answer(topic: str, asked: str, text: str, extension: dict[str, Any]) -> Verdict:
    said, *rest = text.split(" ")
    if said != _QUESTION_NONCE.findall(asked)[-1]:
        return Verdict("the answer to another question", text[:40])
    if len(rest) < 2 or not re.fullmatch(r"[0-9a-f]{64}", rest[0]):
        return Verdict("an answer that is not whole", text[:100])
    shown = rest[1:]
    if len(shown) != extension["totals"]["sent"]:
        return Verdict("other evidence than its totals say", f"{shown} {extension['totals']}")
    if extension["outcome"] == "degraded":
        first = extension["degraded"][0]
        return Verdict("degraded", f"{first['stage']} {first['reason']}")
    if extension["outcome"] != "ok" or not shown[0].startswith(f"C-{topic}-"):
        return Verdict("an answer from wrong evidence", f"{extension['outcome']} {shown}")
    return Verdict("right")
