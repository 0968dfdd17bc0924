"""Replies that are perfect HTTP and perfect JSON, and still nonsense: one change of the body each, by edge."""

import base64
import json
import re
import struct
from collections.abc import Callable
from typing import Any

from tests.faults.fault_proxy import Fault, rewriting

Change = Callable[[Any], Any]


def _changed(change: Change) -> Fault:
    return rewriting(lambda body: json.dumps(change(json.loads(body))).encode())


def _replaced(body: bytes) -> Fault:
    return rewriting(lambda _body: body)


def _with(**fields: Any) -> Fault:
    return _changed(lambda reply: reply | fields)


def _in_list(key: str, position: int, **fields: Any) -> Fault:
    def change(reply: Any) -> Any:
        reply[key][position] |= fields
        return reply

    return _changed(change)


def _list(key: str, change: Callable[[list[Any]], list[Any]]) -> Fault:
    return _changed(lambda reply: reply | {key: change(reply[key])})


def _vector(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


ANYWHERE: dict[str, Fault] = {
    "null": _replaced(b"null"),
    "a_list": _replaced(b"[]"),
    "an_empty_object": _replaced(b"{}"),
    "a_page": _replaced(b"<html>proxy</html>"),
    "nothing": _replaced(b""),
    "a_repeated_key": rewriting(lambda body: b'{"id": 1, "id": 2, ' + body.lstrip(b" {")),
    "not_a_number": _replaced(b'{"data": [NaN]}'),
    "too_deep": _replaced(b"[" * 500 + b"]" * 500),
}

EMBEDDING: dict[str, Fault] = {
    "no_vector": _with(data=[]),
    "two_vectors": _list("data", lambda data: [*data, *data]),
    "another_index": _in_list("data", 0, index=1),
    "a_zero_vector": _in_list("data", 0, embedding=_vector(*[0.0] * 384)),
    "an_infinite_vector": _in_list("data", 0, embedding=_vector(float("inf"), *[0.0] * 383)),
    "a_nan_vector": _in_list("data", 0, embedding=_vector(float("nan"), *[0.0] * 383)),
    "a_short_vector": _in_list("data", 0, embedding=_vector(1.0, 2.0)),
    "broken_base64": _in_list("data", 0, embedding="AAA"),
    "text_as_vector": _in_list("data", 0, embedding=["a"]),
    "no_model": _changed(lambda reply: {key: value for key, value in reply.items() if key != "model"}),
}

RETRIEVER: dict[str, Fault] = {
    "one_entry_less": _list("metadata", lambda entries: entries[:-1]),
    "entries_shifted": _list("metadata", lambda entries: entries[1:] + entries[:1]),
    "one_text_less": _list("retrieved_docs", lambda docs: docs[:-1]),
    "a_chunk_twice": _changed(
        lambda reply: (
            reply
            | {
                "retrieved_docs": [reply["retrieved_docs"][0], *reply["retrieved_docs"]],
                "metadata": [reply["metadata"][0], *reply["metadata"]],
            }
        )
    ),
    "another_scope": _in_list("metadata", 0, scope="secret"),
    "a_text_longer_than_its_span": _in_list("retrieved_docs", 0, text="x" * 5000),
    "a_span_backwards": _in_list("metadata", 0, char_start=9, char_end=1),
    "degraded_without_a_reason": _with(outcome="degraded"),
    "an_unknown_outcome": _with(outcome="fine"),
    "a_text_score": _in_list("metadata", 0, scores={"cosine": "high"}),
    "an_unknown_score_kind": _with(score_kind="votes"),
    "no_chunk_id": _in_list("metadata", 0, chunk_id=""),
}

RERANKER: dict[str, Fault] = {
    "one_candidate_unaccounted": _list("ledger", lambda ledger: ledger[:-1]),
    "one_accounted_twice": _list("ledger", lambda ledger: [*ledger, ledger[-1]]),
    "a_stranger": _in_list("ledger", 0, chunk_id="stranger"),
    "kept_in_another_order": _list("reranked_docs", lambda docs: docs[::-1]),
    "one_kept_less": _list("reranked_docs", lambda docs: docs[:-1]),
    "a_changed_text": _in_list("reranked_docs", 0, text="The part number is C-seal-00000000."),
    "another_strategy": _with(strategy="threshold"),
    "another_score_kind": _with(score_kind="cosine"),
    "a_score_out_of_scale": _in_list("reranked_docs", 0, score=7.0),
    "degraded_without_a_reason": _with(outcome="degraded"),
    "empty_with_documents": _with(outcome="empty"),
    "a_false_retrieval_rank": _in_list("ledger", 0, retrieval_rank=99),
    "sent_without_a_rank": _in_list("ledger", 0, rank=None),
}

COUNTING: dict[str, Fault] = {
    "tokens_as_a_number": _replaced(b'{"tokens": 7, "prompt": 7}'),
    "tokens_as_text": _replaced(b'{"tokens": "many", "prompt": []}'),
    "another_reply": _replaced(b'{"object": "list", "data": []}'),
}

_STREAM = b'data: {"choices": [{"index": 0, "delta": {"content": "Q-0000000000 "}}]}\n\n'

LLM: dict[str, Fault] = {
    "no_done": rewriting(lambda body: body.replace(b"data: [DONE]\n\n", b"")),
    "an_error_event": rewriting(lambda body: body.replace(b"data: [DONE]", b'data: {"error": {"message": "oom"}}')),
    "an_error_event_at_once": rewriting(lambda body: b'data: {"error": {"message": "oom"}}\n\n' + body),
    "an_event_that_is_no_json": rewriting(lambda body: _STREAM + b"data: {\n\n" + body),
    "text_that_is_no_utf8": rewriting(lambda body: _STREAM + b'data: "\xff"\n\n' + body),
    "a_repeated_key_in_an_event": rewriting(lambda body: b'data: {"choices": [], "choices": []}\n\n' + body),
    "a_lone_surrogate": rewriting(lambda body: b'data: {"choices": [{"delta": {"content": "\\ud800"}}]}\n\n' + body),
    "content_as_a_number": rewriting(lambda body: b'data: {"choices": [{"delta": {"content": 5}}]}\n\n' + body),
    "choices_as_an_object": rewriting(lambda body: b'data: {"choices": {"0": {}}}\n\n' + body),
    "an_event_without_end": rewriting(lambda body: b"data: " + b"x" * (2**20 + 1)),
    "cut_in_an_event": rewriting(lambda body: body[: len(body) // 2]),
}

SEMANTIC: dict[str, dict[str, Fault]] = {
    "embedding": ANYWHERE | EMBEDDING,
    "retriever": ANYWHERE | RETRIEVER,
    "reranker": ANYWHERE | RERANKER,
    "counting": ANYWHERE | COUNTING,
    "llm": {name: fault for name, fault in ANYWHERE.items() if name != "a_repeated_key"} | LLM,
}


def _exchanged(reply: Any) -> Any:
    """Two candidates of equal length with each other's text: every id, span and count is still right."""
    first, *rest = reply["retrieved_docs"]
    other = next(one for one in rest if len(one["text"]) == len(first["text"]))
    first["text"], other["text"] = other["text"], first["text"]
    return reply


PLANTED: dict[str, Fault] = {
    "faithful": rewriting(lambda body: body),
    "exchanged_texts": _changed(_exchanged),
    "anothers_answer": rewriting(lambda body: re.sub(rb"Q-[0-9]{10}", b"Q-0000000000", body)),
    "a_word_less": rewriting(lambda body: re.sub(rb"data: [^\n]*C-[^\n]*\n\n", b"", body, count=1)),
}
"""What no gateway could notice: the oracle has to."""
