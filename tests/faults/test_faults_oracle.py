"""The nonce oracle by itself: every kind of wrong answer is told from a right one."""

import json

import pytest

from tests.faults.matrix import Cell, is_collateral
from tests.faults.oracle import Verdict, judge

ASKED = "What? Q-1234567890"
HASH = "0" * 64


def judged(text: str, outcome: str = "ok", sent: int = 1, status: int = 200) -> str:
    extension = {"outcome": outcome, "totals": {"sent": sent}, "degraded": [{"stage": "reranker", "reason": "x"}]}
    body = {"choices": [{"message": {"content": text}}], "steelyard": extension}
    return judge("seal", ASKED, status, json.dumps(body).encode(), stream=False).kind


def test_a_right_answer() -> None:
    assert judged(f"Q-1234567890 {HASH} C-seal-1") == "right"
    assert judged(f"Q-1234567890 {HASH} C-seal-1", "degraded") == "degraded"


@pytest.mark.parametrize(
    ("text", "outcome", "sent"),
    [
        ("Q-0000000000 {} C-seal-1", "ok", 1),
        ("Q-1234567890 {} C-torque-1", "ok", 1),
        ("Q-1234567890 {} C-seal-1", "ok", 2),
        ("Q-1234567890 {}", "ok", 0),
        ("Q-1234567890 {} C-seal-1", "empty", 1),
        ("I found no evidence.", "empty", 0),
        ("", "ok", 0),
    ],
)
def test_a_wrong_one(text: str, outcome: str, sent: int) -> None:
    assert judged(text.format(HASH), outcome, sent) not in ("right", "degraded", "error")


@pytest.mark.parametrize(
    "events",
    [
        'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n',
        'data: {"error": {"code": "x"}}\n\ndata: [DONE]\n\n',
        'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: {"error": {"code": "x"}}\n\n',
    ],
)
def test_a_stream_that_ends_in_a_wrong_way(events: str) -> None:
    assert judge("seal", ASKED, 200, events.encode(), stream=True).kind not in ("right", "error")


def test_an_error_in_the_stream_is_an_error() -> None:
    body = b'data: {"choices": []}\n\ndata: {"error": {"code": "x"}}\n\n'
    assert judge("seal", ASKED, 200, body, stream=True) == Verdict("error", "in the stream: x")


@pytest.mark.parametrize(
    ("edge", "fault", "verdict", "collateral"),
    [
        ("none", None, Verdict("error", "502 upstream_bad_reply llm"), True),
        ("none", None, Verdict("right"), False),
        ("reranker", "close_at_once", Verdict("error", "502 upstream_bad_reply llm"), True),
        ("reranker", "close_at_once", Verdict("error", "502 upstream_bad_reply reranker"), False),
        ("reranker", "close_at_once", Verdict("error", "500 internal gateway"), False),
        ("retriever", "close_at_once", Verdict("error", "502 upstream_bad_reply llm"), False),
    ],
)
def test_an_error_is_collateral_only_where_another_neighbour_failed(
    edge: str, fault: str | None, verdict: Verdict, collateral: bool
) -> None:
    assert is_collateral(Cell(edge, fault, 0, stream=False), verdict) is collateral
