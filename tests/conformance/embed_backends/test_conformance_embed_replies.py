"""What a reply may not say: every backend that reads replies refuses it whole, under the code that fits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard_contracts.errors import ErrorCode, UpstreamError
from tests.harness.embed_doubles.vectors import vector
from tests.harness.model_server_double import rewritten, status

from .labs import LIMIT, WIRE, Lab, sample, within

BAD_VECTORS: dict[str, Callable[[list[float]], Any]] = {
    "all zero": lambda row: [0.0] * len(row),
    "whole zeros": lambda row: [0] * len(row),
    "too large for a norm": lambda row: [1e300] * len(row),
    "one number less": lambda row: row[:-1],
    "one number more": lambda row: [*row, 1.0],
    "empty": lambda _row: [],
    "null": lambda _row: None,
    "an object": lambda row: {"values": row},
    "base64 that nobody asked for": lambda _row: "AACAPwAAAEA=",
    "a null in it": lambda row: [None, *row[1:]],
    "a string in it": lambda row: [str(row[0]), *row[1:]],
    "a truth value in it": lambda row: [True, *row[1:]],
    "a list in it": lambda row: [[row[0]], *row[1:]],
    "NaN in it": lambda row: [float("nan"), *row[1:]],
    "infinity in it": lambda row: [*row[:-1], float("inf")],
}


def changed(lab: Lab, place: int, change: Callable[[list[float]], Any]) -> Callable[[list[Any]], Any]:
    def one(row: Any) -> Any:
        return change(row) if lab.kind == "tei" else {**row, "embedding": change(row["embedding"])}

    return lambda rows: [one(row) if i == place else row for i, row in enumerate(rows)]


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("fault", BAD_VECTORS)
def test_a_vector_that_is_none_spoils_the_reply(kind: str, fault: str, place: int, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.alter = changed(lab, place, BAD_VECTORS[fault])
        assert await lab.code() is ErrorCode.UPSTREAM_BAD_REPLY
        lab.double.alter = None
        await lab.embedder.probe()
        assert len(await lab.vectors(sample(3))) == 3

    within(kind, tmp_path, use)


BAD_LISTS: dict[str, Callable[[list[Any]], Any]] = {
    "one less": lambda rows: rows[:-1],
    "one more": lambda rows: [*rows, rows[0]],
    "none": lambda _rows: [],
    "null": lambda _rows: None,
    "an object": lambda rows: {str(i): row for i, row in enumerate(rows)},
    "numbers": lambda rows: [0.5 for _ in rows],
    "all of another dimension": lambda rows: [
        row[:-1] if isinstance(row, list) else {**row, "embedding": row["embedding"][:-1]} for row in rows
    ],
}


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("fault", BAD_LISTS)
def test_vectors_that_do_not_fit_the_texts_are_no_reply(kind: str, fault: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.alter = BAD_LISTS[fault]
        if fault == "all of another dimension":
            with pytest.raises(Exception, match=r"expected \(3, 8\)"):
                await lab.vectors(sample(3))
        else:
            assert await lab.code() is ErrorCode.UPSTREAM_BAD_REPLY

    within(kind, tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_one_failed_batch_fails_the_whole_reply(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.alter = lambda rows: rows[:-1] if len(rows) == 8 else rows
        assert await lab.code(sample(72)) is ErrorCode.UPSTREAM_BAD_REPLY

    within(kind, tmp_path, use)


def with_index(value: Any) -> Callable[[list[Any]], Any]:
    return lambda rows: [{**rows[0], "index": value}, *rows[1:]]


BAD_INDEXES: dict[str, Callable[[list[Any]], Any]] = {
    "twice": lambda rows: [rows[0], *rows[:-1]],
    "negative": with_index(-1),
    "beyond the last": with_index(3),
    "true": with_index(True),
    "a string": with_index("0"),
    "a float": with_index(0.0),
    "null": with_index(None),
    "missing": lambda rows: [{"embedding": row["embedding"]} for row in rows],
}


@pytest.mark.parametrize("fault", BAD_INDEXES)
def test_each_index_is_there_once(fault: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.alter = BAD_INDEXES[fault]
        assert await lab.code() is ErrorCode.UPSTREAM_BAD_REPLY

    within("openai", tmp_path, use)


def test_rows_in_any_order_are_put_in_the_texts_order(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.alter = lambda rows: rows[::-1]
        texts = sample(10)
        np.testing.assert_array_equal(await lab.vectors(texts), [vector(text) for text in texts])

    within("openai", tmp_path, use)


BODIES: dict[str, bytes] = {
    "nothing": b"",
    "an error": b'{"error": "out of memory", "error_type": "Backend"}',
    "HTML": b"<!doctype html><html><body>502 Bad Gateway</body></html>",
    "null": b"null",
    "a string": b'"ok"',
    "half a reply": b'{"data": [{"index": 0, ',
    "text after the reply": b"[] []",
    "deep nesting": b"[" * 5000 + b"]" * 5000,
}


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("what", BODIES)
def test_a_success_with_another_body_is_no_reply(kind: str, what: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = status(200, BODIES[what], "text/html" if what == "HTML" else "application/json")
        assert await lab.code() is ErrorCode.UPSTREAM_BAD_REPLY

    within(kind, tmp_path, use)


def test_a_key_that_occurs_twice_is_no_reply(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        lab.double.fault = rewritten(lambda content: content.replace(b'"index": 0', b'"index": 1, "index": 0'))
        assert await lab.code() is ErrorCode.UPSTREAM_BAD_REPLY

    within("openai", tmp_path, use)


@pytest.mark.parametrize("kind", WIRE)
def test_what_the_server_says_in_an_error_goes_nowhere(kind: str, tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        for code in (200, 400, 401, 404, 413, 422, 424, 429, 500, 503):
            lab.double.fault = None
            await lab.embedder.probe()
            lab.double.fault = status(code, b'{"error": "CANARY the sea", "message": "CANARY"}')
            with pytest.raises(UpstreamError) as error:
                await lab.vectors(["the sea"])
            assert "CANARY" not in str(error.value)
            assert "sea" not in str(error.value)

    within(kind, tmp_path, use)


@pytest.mark.parametrize("counts", [True, False])
def test_a_server_that_reads_fewer_tokens_than_a_text_has_is_found_out_by_its_count(
    counts: bool, tmp_path: Path
) -> None:
    async def use(lab: Lab) -> None:
        lab.double.listing = None
        await lab.embedder.probe()
        lab.double.truncates, lab.double.limit, lab.double.counts = True, 16, counts
        assert len(await lab.vectors(["cat " * 10])) == 1
        if counts:
            assert await lab.code(["cat " * (LIMIT - 2)]) is ErrorCode.UPSTREAM_BAD_REPLY
        else:
            assert len(await lab.vectors(["cat " * (LIMIT - 2)])) == 1

    within("openai", tmp_path, use)


def test_replies_that_begin_to_name_another_model_are_no_replies(tmp_path: Path) -> None:
    async def use(lab: Lab) -> None:
        await lab.vectors(["cat"])
        lab.double.served = "text-embedding-double-2"
        with pytest.raises(UpstreamError, match="before it was 'text-embedding-double'") as error:
            await lab.vectors(["cat"])
        assert error.value.code is ErrorCode.MODEL_UNAVAILABLE

    within("openai", tmp_path, use)
