from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from steelyard_store import Filter
from steelyard_store.embedded import matrix as module
from steelyard_store.embedded.matrix import Batch, MatrixSnapshot, VectorMatrix, exact_cosines, unit_rows

D = 8
ALL = Filter({"s0", "s1"})


def batch(first: int, count: int, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed + first)
    ids = range(first, first + count)
    return Batch(
        row_ids=list(ids),
        chunk_ids=[f"c{number:05}" for number in ids],
        scopes=[f"s{number % 2}" for number in ids],
        documents=[f"d{number // 4}" for number in ids],
        sources=[f"f{number % 3}" for number in ids],
        vectors=rng.standard_normal((count, D), dtype=np.float32),
    )


def plain(rows: dict[int, np.ndarray], query: np.ndarray, k: int, keep: object = None) -> list[int]:
    scored = sorted((-float(exact_cosines(unit_rows(row[None]), query)[0]), number) for number, row in rows.items())
    return [number for _, number in scored][:k]


def row_ids(snapshot: MatrixSnapshot, query: np.ndarray, k: int, chosen: Filter = ALL) -> list[int]:
    return [row_id for row_id, _ in snapshot.top(query, k, chosen)]


def test_random_appends_and_removals_equal_a_matrix_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_COMPACT_MINIMUM", 20)
    rng = random.Random(3)
    grown, following = VectorMatrix(D), 1
    rows: dict[int, np.ndarray] = {}
    query = np.random.default_rng(9).standard_normal(D).astype(np.float32)
    lengths = []
    for _ in range(150):
        if rng.random() < 0.5 or not rows:
            added = batch(following, rng.randint(1, 9))
            grown.append(added)
            rows |= dict(zip(added.row_ids, added.vectors, strict=True))
            following += len(added.row_ids)
        else:
            gone = rng.sample(sorted(rows), min(len(rows), rng.randint(1, 12)))
            grown.remove([*gone, following + 100, -1])
            for number in gone:
                del rows[number]
        snapshot = grown.snapshot()
        lengths.append(len(snapshot.units))
        for k in (1, 3, 1_000):
            assert row_ids(snapshot, query, k) == plain(rows, query, k)
        odd = {number: row for number, row in rows.items() if number % 2}
        assert row_ids(snapshot, query, 5, Filter({"s1"})) == plain(odd, query, 5)
        narrow = Filter({"s0", "s1"}, document_ids={"d3", "d7"}, sources={"f1"})
        wanted = {number: row for number, row in rows.items() if number // 4 in (3, 7) and number % 3 == 1}
        assert row_ids(snapshot, query, 5, narrow) == plain(wanted, query, 5)
    assert any(after < before for before, after in itertools.pairwise(lengths)), "it never compacted"


def test_a_snapshot_does_not_change_under_later_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_COMPACT_MINIMUM", 5)
    grown = VectorMatrix(D)
    grown.append(batch(1, 40))
    query = np.ones(D, dtype=np.float32)
    snapshot = grown.snapshot()
    before = snapshot.top(query, 100, ALL)
    grown.append(batch(41, 500))
    grown.remove(range(1, 30))
    grown.append(batch(541, 3))
    assert snapshot.top(query, 100, ALL) == before
    assert len(grown.snapshot().top(query, 1_000, ALL)) == 543 - 29


def test_rows_are_ranked_exactly_though_float32_cannot_tell_them_apart() -> None:
    rng = np.random.default_rng(1)
    base, count = rng.standard_normal(384).astype(np.float32), 2_000
    # Cosines about 5e-7 below 1 and 4e-8 apart: finer than the rounding error of a float32 product.
    rows = (base + 1e-3 * rng.standard_normal((count, 384))).astype(np.float32)
    ids = list(range(1, count + 1))
    grown = VectorMatrix(384)
    grown.append(Batch(ids, [f"c{i:04}" for i in ids], ["s0"] * count, ["d"] * count, ["f"] * count, rows))
    expected = np.lexsort((np.array(ids), -exact_cosines(unit_rows(rows), base)))[:20] + 1
    assert row_ids(grown.snapshot(), base, 20) == expected.tolist()


def test_equal_rows_score_equally_in_any_company() -> None:
    rng = np.random.default_rng(2)
    row, query = rng.standard_normal(384).astype(np.float32), rng.standard_normal(384).astype(np.float32)
    alone = exact_cosines(unit_rows(row[None]), query)[0]
    for count in (2, 3, 5, 17, 4_097):
        company = rng.standard_normal((count, 384)).astype(np.float32)
        company[count // 2] = row
        assert exact_cosines(unit_rows(company), query)[count // 2] == alone


def test_unit_rows_have_norm_one_also_at_the_ends_of_float32() -> None:
    vectors = np.array([[1e-40, 0], [3e38, 3e38], [1e-45, 1e-45], [3, 4]], dtype=np.float32)
    assert np.linalg.norm(unit_rows(vectors).astype(np.float64), axis=1) == pytest.approx([1, 1, 1, 1], abs=1e-6)


def test_an_empty_matrix_and_a_filter_that_nothing_passes() -> None:
    grown = VectorMatrix(D)
    query = np.ones(D, dtype=np.float32)
    assert grown.snapshot().top(query, 3, ALL) == []
    assert grown.last_row_id == 0
    grown.append(batch(1, 4))
    assert grown.snapshot().top(query, 3, Filter({"nobody"})) == []
    grown.remove([1, 2, 3, 4])
    assert grown.snapshot().top(query, 3, ALL) == []


def test_names_that_no_row_has_any_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_COMPACT_MINIMUM", 1)
    grown = VectorMatrix(D)
    for number in range(200):
        grown.append(batch(1 + 4 * number, 4))
        if number:
            grown.remove(range(4 * number - 3, 4 * number + 1))
    assert len(grown.snapshot().names[1].codes(f"d{number}" for number in range(300))) < 20
