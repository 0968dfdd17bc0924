"""The ledger's invariant and the budget's: a reply whose numbers do not add up is no reply."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard_contracts.answers import Answered, Budget
from steelyard_contracts.enums import Fate, Reason
from steelyard_contracts.ledger import LedgerEntry, LedgerTotals, ValueTerms, drop_order, totals
from steelyard_contracts.pairs import PairReport

SENT = (Reason.SELECTED, Reason.KEPT_FLOOR)
FATES = st.lists(st.sampled_from(list(Reason)), max_size=30)


def ledger(reasons: list[Reason]) -> list[LedgerEntry]:
    entries = []
    rank = 0
    for position, reason in enumerate(reasons):
        sent = reason in SENT
        rank += sent
        entries.append(
            LedgerEntry(
                chunk_id=f"c{position}",
                retrieval_rank=position + 1,
                fate=Fate.SENT if sent else Fate.DROPPED,
                reason=reason,
                rank=rank if sent else None,
            )
        )
    return entries


@given(FATES)
@settings(max_examples=150, deadline=None)
def test_every_candidate_is_counted_once(reasons: list[Reason]) -> None:
    counted = totals(ledger(reasons))
    assert counted.retrieved == len(reasons)
    assert counted.sent == sum(reason in SENT for reason in reasons)
    assert counted.dropped == {reason: reasons.count(reason) for reason in set(reasons) - set(SENT)}
    assert counted.retrieved == counted.sent + sum(counted.dropped.values())


def test_a_chunk_that_is_accounted_for_twice_is_refused() -> None:
    entries = ledger([Reason.SELECTED, Reason.DUPLICATE])
    with pytest.raises(ValueError, match="twice"):
        totals([*entries, entries[0]])


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
@settings(max_examples=100, deadline=None)
def test_totals_that_do_not_add_up_are_refused(retrieved: int, sent: int, dropped: int) -> None:
    value: dict[str, Any] = {"retrieved": retrieved, "sent": sent, "dropped": {"duplicate": dropped}}
    if retrieved == sent + dropped:
        assert LedgerTotals.model_validate(value).sent == sent
    else:
        with pytest.raises(ValidationError, match="retrieved is not"):
            LedgerTotals.model_validate(value)


@pytest.mark.parametrize(
    ("fate", "reason", "rank"),
    [
        (Fate.SENT, Reason.SELECTED, None),
        (Fate.DROPPED, Reason.DUPLICATE, 1),
        (Fate.DROPPED, Reason.SELECTED, None),
        (Fate.DROPPED, Reason.KEPT_FLOOR, None),
        (Fate.SENT, Reason.SELECTED, 0),
    ],
)
def test_a_fate_that_contradicts_itself_is_refused(fate: Fate, reason: Reason, rank: int | None) -> None:
    with pytest.raises(ValidationError):
        LedgerEntry(chunk_id="a", retrieval_rank=1, fate=fate, reason=reason, rank=rank)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("retrieval_rank", 0),
        ("retrieval_rank", 1.0),
        ("reason", "because"),
        ("fate", "lost"),
        ("scores", {"cosine": float("inf")}),
        ("scores", {"score": 1.0}),
    ],
)
def test_an_entry_is_strict(field: str, value: Any) -> None:
    good = {"chunk_id": "a", "retrieval_rank": 1, "fate": "dropped", "reason": "duplicate"}
    assert LedgerEntry.model_validate(good)
    with pytest.raises(ValidationError):
        LedgerEntry.model_validate({**good, field: value})


def test_a_pair_report_and_value_terms_are_finite() -> None:
    assert PairReport.model_validate(PAIR).kept_spans == [(0, 3)]
    with pytest.raises(ValidationError):
        PairReport.model_validate({**PAIR, "truncated": 1})
    terms = dict.fromkeys(ValueTerms.model_fields, 0)
    assert ValueTerms.model_validate(terms).value == 0
    for field in ValueTerms.model_fields:
        with pytest.raises(ValidationError):
            ValueTerms.model_validate({**terms, field: float("nan")})


PAIR = {
    "tokens_total": 9,
    "tokens_kept": 8,
    "truncated": True,
    "policy": "truncate",
    "kept_spans": [[0, 3]],
    "query_tokens": 2,
}


@pytest.mark.parametrize("figure", ["tokens_total", "tokens_kept", "truncated", "kept_spans", "query_tokens"])
def test_an_exact_pair_report_has_all_of_its_figures(figure: str) -> None:
    assert PairReport.model_validate(PAIR).status == "exact"
    with pytest.raises(ValidationError, match="has all of its figures"):
        PairReport.model_validate({name: value for name, value in PAIR.items() if name != figure})


@pytest.mark.parametrize("figure", [{name: PAIR[name]} for name in PAIR if name != "policy"] + [{"truncated": False}])
def test_a_pair_report_that_is_unavailable_claims_nothing(figure: dict[str, object]) -> None:
    unavailable = {"status": "unavailable", "policy": "truncate"}
    assert PairReport.model_validate(unavailable).truncated is None
    if figure == {"truncated": True}:
        assert PairReport.model_validate({**unavailable, **figure}).truncated
        return
    with pytest.raises(ValidationError, match="has no figures"):
        PairReport.model_validate({**unavailable, **figure})


@pytest.mark.parametrize(("reason", "allowed"), [("not_scored", True), ("duplicate", False), ("blank_text", False)])
def test_only_a_candidate_that_was_not_scored_has_a_fault(reason: str, allowed: bool) -> None:
    entry = {"chunk_id": "a", "retrieval_rank": 1, "fate": "dropped", "reason": reason}
    entry_with = {**entry, "fault": {"reason": "text_too_long", "detail": "600 tokens"}}
    assert LedgerEntry.model_validate(entry).fault is None
    if allowed:
        assert LedgerEntry.model_validate(entry_with).fault is not None
    else:
        with pytest.raises(ValidationError, match="has a fault"):
            LedgerEntry.model_validate(entry_with)


PARTS = ("system", "history", "question", "evidence", "reserved", "unused")


@given(st.lists(st.integers(0, 50), min_size=6, max_size=6), st.integers(-1, 1))
@settings(max_examples=100, deadline=None)
def test_a_budget_adds_up_to_its_window(parts: list[int], error: int) -> None:
    window = sum(parts) + error
    value = {"window": window, "tokenizer": "t", **dict(zip(PARTS, parts, strict=True))}
    if error == 0:
        assert Budget.model_validate(value).window == window
    else:
        with pytest.raises(ValidationError):
            Budget.model_validate(value)


def test_an_answer_with_a_wrong_ledger_is_refused() -> None:
    good: dict[str, Any] = {
        "outcome": "ok",
        "ledger_id": None,
        "totals": {"retrieved": 3, "sent": 1, "dropped": {"duplicate": 2}},
        "citation_mode": "inline",
        "policy_hash": "p",
        "request_id": "r",
    }
    assert Answered.model_validate(good).totals.sent == 1
    with pytest.raises(ValidationError):
        Answered.model_validate({**good, "totals": {"retrieved": 3, "sent": 1, "dropped": {"duplicate": 1}}})


@pytest.mark.parametrize(
    ("kept", "leaves"),
    [
        ([None, None, None], 3),
        ([0.2, 0.1, 0.3], 2),
        ([0.1, 0.1, 0.3], 2),
        ([-0.1, 0.0, None], 1),
        ([0.1, None, 0.2], 2),
    ],
)
def test_the_least_valuable_leaves_first_and_of_equals_the_last_in_rank(kept: list[float | None], leaves: int) -> None:
    ranks = dict(enumerate(kept, start=1))
    assert min(ranks, key=lambda rank: drop_order(ranks[rank], rank)) == leaves
