"""Payloads of the gateway as a real one sends them."""

import json
from typing import Any

from steelyard_contracts.answers import Answered, Ledger

LEDGER_ID = "5f0c7bd1"
QUOTE = "The approved seal for AX-104-B is ZQ-77."


def metadata(chunk_id: str, section: str) -> dict[str, Any]:
    return {
        "chunk_id": chunk_id, "document_id": f"d-{chunk_id}", "revision": "r", "source": "handbook.pdf",
        "section": section, "char_start": 0, "char_end": 400, "page": 12, "scope": "public", "scores": {},
    }  # fmt: skip


def value(number: float) -> dict[str, Any]:
    return {
        "relevance": 1.25, "novelty": 0.9, "novelty_weight": 0.875, "utility": 1.0, "token_count": 120,
        "token_cost": 0.3, "confusion_cost": 0.05, "cost": 0.35, "value": number,
    }  # fmt: skip


def entry(chunk_id: str, retrieval_rank: int, reason: str, rank: int | None, number: float | None) -> dict[str, Any]:
    pair = {
        "tokens_total": 130, "tokens_kept": 128 if chunk_id == "c3" else 130, "truncated": chunk_id == "c3",
        "policy": "truncate", "kept_spans": [[0, 400]], "query_tokens": 9,
    }  # fmt: skip
    return {
        "chunk_id": chunk_id, "document_id": f"d-{chunk_id}", "retrieval_rank": retrieval_rank,
        "scores": {"cosine": 0.71, "rerank": 0.95}, "pair": pair, "value": None if number is None else value(number),
        "fate": "dropped" if rank is None else "sent", "reason": reason, "rank": rank,
    }  # fmt: skip


def totals() -> dict[str, Any]:
    return {"retrieved": 4, "sent": 1, "dropped": {"value_below_threshold": 2, "duplicate": 1}}


def budget() -> dict[str, Any]:
    return {
        "window": 4096, "system": 60, "history": 0, "question": 12, "evidence": 120, "reserved": 256, "unused": 3648,
        "tokenizer": "qwen2.5",
    }  # fmt: skip


def citation(**changes: Any) -> dict[str, Any]:
    return {
        "marker": 1, "chunk_id": "c1", "document_id": "d-c1", "revision": "r", "source": "handbook.pdf",
        "section": "4.2 Seals", "page": 12, "page_end": 13, "char_start": 0, "char_end": 400,
        "sha256": "ab" * 32, "quote": QUOTE,
        "quote_start": 31, "quote_end": 71, "answer_start": 0, "answer_end": 15, "support": 0.93, **changes,
    }  # fmt: skip


def ledger(**changes: Any) -> dict[str, Any]:
    sample = {
        "ledger_id": LEDGER_ID, "request_id": "r-1", "created_at": "2026-01-02T03:04:05.678+00:00",
        "question": "Which seal fits AX-104-B?", "answer": "ZQ-77.", "outcome": "ok", "strategy": "adaptive",
        "score_kind": "rerank", "policy_hash": "p",
        "entries": [
            entry("c3", 1, "value_below_threshold", None, -1.4),
            entry("c1", 2, "selected", 1, 0.7),
            entry("c2", 3, "duplicate", None, None),
            entry("c4", 4, "value_below_threshold", None, -2.0),
        ],
        "totals": totals(),
        "evidence": [
            {"chunk_id": "c1", "text": QUOTE, "metadata": metadata("c1", "4.2 Seals")},
            {"chunk_id": "c2", "text": QUOTE, "metadata": metadata("c2", "")},
            {"chunk_id": "c3", "text": None, "metadata": None},
        ],
        "budget": budget(), "settings": {"min_value_threshold": -1.0}, **changes,
    }  # fmt: skip
    return Ledger.model_validate(sample).model_dump(mode="json")


def answered(**changes: Any) -> dict[str, Any]:
    sample = {
        "outcome": "ok", "ledger_id": LEDGER_ID, "totals": totals(), "citations": [citation()],
        "citation_mode": "attributed", "budget": budget(), "policy_hash": "p", "request_id": "r-1", **changes,
    }  # fmt: skip
    return Answered.model_validate(sample).model_dump(mode="json")


def chunk(text: str | None = None, finish_reason: str | None = None, **extension: Any) -> bytes:
    delta = {} if text is None else {"content": text}
    body = {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}], **extension,
    }  # fmt: skip
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def answer_stream(*texts: str, extension: dict[str, Any] | None = None) -> bytes:
    said = answered() if extension is None else extension
    return b"".join(map(chunk, texts)) + chunk(None, "stop", steelyard=said) + b"data: [DONE]\n\n"
