"""What a reply may not say: every backend that reads replies refuses it whole, under the name that fits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard_reranker.backends.port import RerankBackendError
from tests.harness.model_server_double import Row, rewritten, status
from tests.harness.rerank_doubles.scores import score

from .labs import WIRE, Lab, sample, within

NAN = float("nan")


def with_index(value: Any) -> Callable[[list[Row]], Any]:
    return lambda rows: [{**rows[0], "index": value}, *rows[1:]]


def without(key: str) -> Callable[[list[Row]], Any]:
    return lambda rows: [{name: value for name, value in row.items() if name != key} for row in rows]


BAD_ROWS: dict[str, tuple[Callable[[list[Row]], Any], set[str]]] = {
    "one row less": (lambda rows: rows[:-1], {"wrong_count"}),
    "one row more": (lambda rows: [*rows, {**rows[0], "index": len(rows)}], {"wrong_count"}),
    "no rows": (lambda _rows: [], {"wrong_count"}),
    "an index twice": (lambda rows: [rows[0], *rows[:-1]], {"duplicate_index"}),
    "all indexes the same": (lambda rows: [{**row, "index": 0} for row in rows], {"duplicate_index"}),
    "a negative index": (with_index(-1), {"bad_index"}),
    "an index beyond the last": (with_index(3), {"bad_index"}),
    "a huge index": (with_index(10**30), {"bad_index", "bad_reply"}),
    # The SDK's own decoder refuses wrong types before our check sees the row.
    "true as index": (with_index(True), {"bad_index", "bad_reply"}),
    "false as index": (with_index(False), {"bad_index", "bad_reply"}),
    "a string as index": (with_index("0"), {"bad_index", "bad_reply"}),
    "a float as index": (with_index(0.0), {"bad_index", "bad_reply"}),
    "null as index": (with_index(None), {"bad_index", "bad_reply"}),
    "a list as index": (with_index([0]), {"bad_index", "bad_reply"}),
    "no index": (without("index"), {"bad_index", "bad_reply"}),
    "rows that are numbers": (lambda rows: [0.5 for _ in rows], {"bad_reply"}),
    "rows that are null": (lambda rows: [None for _ in rows], {"bad_reply"}),
    "an object for the rows": (lambda rows: {str(row["index"]): row for row in rows}, {"bad_reply"}),
    "null for the rows": (lambda _rows: None, {"bad_reply"}),
    "a string for the rows": (lambda _rows: "abc", {"bad_reply"}),
}

BAD_SCORES: dict[str, tuple[Any, set[str]]] = {
    "NaN": (NAN, {"bad_reply"}),
    "infinity": (float("inf"), {"bad_reply"}),
    "minus infinity": (float("-inf"), {"bad_reply"}),
    "null": (None, {"not_a_number", "bad_reply"}),
    "a string": ("0.5", {"not_a_number", "bad_reply"}),
    "true": (True, {"not_a_number", "bad_reply"}),
    "a list": ([0.5], {"not_a_number", "bad_reply"}),
    "above one": (1.0000001, {"out_of_scale"}),
    "a logit": (7.5, {"out_of_scale"}),
    "below zero": (-0.25, {"out_of_scale"}),
    "two as a whole number": (2, {"out_of_scale"}),
}


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("fault", BAD_ROWS)
def test_rows_that_do_not_fit_the_texts_are_no_reply(kind: str, fault: str, tmp_path: Path) -> None:
    alter, reasons = BAD_ROWS[fault]

    async def use(lab: Lab) -> None:
        lab.double.alter = alter
        assert await lab.reason() in reasons
        assert len(lab.double.calls) == 1
        lab.double.alter = None
        assert len(await lab.scores("a cat", sample(3))) == 3

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("fault", BAD_SCORES)
def test_a_score_that_is_none_spoils_the_reply(kind: str, fault: str, place: int, tmp_path: Path) -> None:
    value, reasons = BAD_SCORES[fault]

    async def use(lab: Lab) -> None:
        lab.double.alter = lambda rows: [
            {**row, lab.score_key: value} if i == place else row for i, row in enumerate(rows)
        ]
        assert await lab.reason() in reasons

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_row_without_a_score_spoils_the_reply(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.alter = without(lab.score_key)
        assert await lab.reason() in {"not_a_number", "bad_reply"}

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("change", [sorted, lambda rows: rows[::-1]])
def test_rows_in_any_order_are_put_in_the_texts_order(kind: str, change: Callable[..., Any], tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        if change is sorted:
            lab.double.alter = lambda rows: sorted(rows, key=lambda row: (row["index"] * 7) % 11)
        else:
            lab.double.alter = change
        texts = sample(10)
        assert await lab.scores("a cat", texts) == [score("a cat", text) for text in texts]

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_scores_that_are_whole_numbers_count(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.alter = lambda rows: [{**row, lab.score_key: int(row["index"] == 1)} for row in rows]
        assert await lab.scores("a cat", sample(3)) == [0.0, 1.0, 0.0]

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_keys_that_nobody_asked_for_are_ignored(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.alter = lambda rows: [{**row, "text": "echo", "extra": {"a": [1]}} for row in rows]
        assert len(await lab.scores("a cat", sample(3))) == 3

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_one_failed_batch_fails_the_whole_reply(kind: str, tmp_path: Path) -> None:
    """No scores of the batches that went well: a reply is whole or none."""

    async def use(lab: Lab) -> None:
        lab.double.alter = lambda rows: rows[:-1] if len(rows) in (5, 1) or len(rows) == 101 else rows
        assert await lab.reason(sample(101)) == "wrong_count"

    within(kind, tmp_path, use)


BODIES: dict[str, bytes] = {
    "nothing": b"",
    "an error": b'{"error": "out of memory", "error_type": "Backend"}',
    "a message": b'{"message": "internal"}',
    "HTML": b"<!doctype html><html><body>502 Bad Gateway</body></html>",
    "null": b"null",
    "a number": b"0.5",
    "a string": b'"ok"',
    "half a reply": b'{"results": [{"index": 0, ',
    "text after the reply": b"[] []",
    "bytes that are no UTF-8": b'{"results": "\xff\xfe"}',
    "deep nesting": b"[" * 5000 + b"]" * 5000,
}


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("what", BODIES)
def test_a_success_with_another_body_is_no_reply(kind: str, what: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = status(200, BODIES[what], "text/html" if what == "HTML" else "application/json")
        assert await lab.reason() == "bad_reply"
        assert len(lab.double.calls) == 1

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_a_key_that_occurs_twice_is_no_reply(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = rewritten(lambda content: content.replace(b'"index": 0', b'"index": 1, "index": 0'))
        assert await lab.reason() == "bad_reply"

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_what_the_server_says_in_an_error_goes_nowhere(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        for code in (200, 400, 401, 404, 413, 422, 429, 500, 503):
            lab.double.fault = status(code, b'{"error": "CANARY the sea", "message": "CANARY"}')
            with pytest.raises(RerankBackendError) as error:
                await lab.scores("a cat", ["the sea"])
            assert "CANARY" not in str(error.value)
            assert "sea" not in str(error.value)

    within(kind, tmp_path, use)
