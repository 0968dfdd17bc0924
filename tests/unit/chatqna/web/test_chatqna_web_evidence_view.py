"""The funnel and the rows of the evidence page follow from the ledger's numbers."""

from typing import Any

import pytest

from steelyard_chatqna.web.evidence_view import funnel, rows
from steelyard_contracts.answers import Evidence, Ledger
from steelyard_contracts.enums import Outcome, ScoreKind, Strategy
from steelyard_contracts.ledger import LedgerEntry, ValueTerms, totals

from ..fakes import TEXTS, metadata


def terms(utility: float, token_cost: float, confusion_cost: float) -> dict[str, Any]:
    cost = token_cost + confusion_cost
    return ValueTerms(
        relevance=utility,
        novelty=1.0,
        novelty_weight=1.0,
        utility=utility,
        token_count=100,
        token_cost=token_cost,
        confusion_cost=confusion_cost,
        cost=cost,
        value=utility - cost,
    ).model_dump()


def entry(chunk_id: str, found: int, rank: int | None, reason: str, **fields: Any) -> LedgerEntry:
    pair = {
        "tokens_total": 9,
        "tokens_kept": 9,
        "truncated": False,
        "policy": "truncate",
        "kept_spans": [[0, 5]],
        "query_tokens": 2,
    }
    body = {"chunk_id": chunk_id, "retrieval_rank": found, "rank": rank, "reason": reason, "pair": pair}
    return LedgerEntry.model_validate(body | {"fate": "dropped" if rank is None else "sent"} | fields)


def ledger(entries: list[LedgerEntry], **fields: Any) -> Ledger:
    known = {
        "ledger_id": "l",
        "request_id": "r",
        "created_at": "2026-11-30T00:00:00Z",
        "outcome": Outcome.OK,
        "strategy": Strategy.ADAPTIVE,
        "score_kind": ScoreKind.RERANK,
        "policy_hash": "p" * 64,
        "entries": entries,
        "totals": totals(entries),
        "evidence": [
            Evidence(chunk_id=one.chunk_id, text=TEXTS[one.chunk_id], metadata=metadata(one.chunk_id, "x"))
            for one in entries
        ],
        "settings": {"min_value_threshold": -1.0},
    }
    return Ledger(**known | fields)


ENTRIES = [
    entry("a", 2, 1, "selected", value=terms(1.0, 0.5, 0.1)),
    entry("b", 1, None, "over_context_budget", value=terms(0.5, 0.5, 0.5)),
    entry("c", 3, None, "below_cosine_floor", pair=None),
]


def test_the_funnel_only_narrows_and_counts_what_the_budget_took_as_selected() -> None:
    steps = funnel(ledger(ENTRIES))
    assert [(step.name, step.count) for step in steps] == [("Retrieved", 3), ("Read", 2), ("Selected", 2), ("Sent", 1)]
    assert [step.share for step in steps] == pytest.approx([100, 200 / 3, 200 / 3, 100 / 3])
    assert "1 over context budget" in steps[-1].note


def test_an_empty_ledger_has_an_empty_funnel() -> None:
    assert [(step.count, step.share) for step in funnel(ledger([]))] == [(0, 0.0)] * 4
    assert rows(ledger([])) == []


def test_sent_candidates_come_first_then_the_others_as_they_were_found() -> None:
    assert [row.entry.chunk_id for row in rows(ledger(ENTRIES))] == ["a", "b", "c"]
    assert [row.sent for row in rows(ledger(ENTRIES))] == [True, False, False]


def test_all_rows_share_one_scale_and_the_bars_add_up_to_the_value() -> None:
    first, second, third = rows(ledger(ENTRIES))
    assert third.balance is None
    assert first.balance is not None
    assert second.balance is not None
    assert (first.balance.zero, first.balance.threshold) == (second.balance.zero, second.balance.threshold)
    utility, tokens, confusion = first.balance.bars
    assert utility.left == pytest.approx(first.balance.zero)
    assert tokens.left + tokens.width == pytest.approx(first.balance.zero)
    assert confusion.left + confusion.width == pytest.approx(tokens.left)
    balance = first.balance.zero + utility.width - tokens.width - confusion.width
    assert balance == pytest.approx(first.balance.value)
    assert first.balance.value > first.balance.threshold


def test_without_texts_and_values_there_is_nothing_to_draw() -> None:
    bare = ledger(ENTRIES, settings={}, evidence=[Evidence(chunk_id=one.chunk_id) for one in ENTRIES])
    assert [(row.title, row.balance, row.passages) for row in rows(bare)] == [
        ("a", None, ()),
        ("b", None, ()),
        ("c", None, ()),
    ]
