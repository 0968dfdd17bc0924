"""Names and vectors in the form that ArangoDB keeps them in."""

from __future__ import annotations

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_store import StoreCorrupt
from steelyard_store.arangodb.rows import document_key, hexed, vector_from

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(NAMES, NAMES)
def test_hexed_names_are_ordered_and_told_apart_as_their_bytes_are(left: str, right: str) -> None:
    assert (hexed(left) < hexed(right)) == (left.encode() < right.encode())
    assert (hexed(left) == hexed(right)) == (left == right)
    assert set(hexed(left)) <= set("0123456789abcdef")


@given(NAMES, NAMES)
def test_a_document_key_is_one_that_arangodb_takes_and_belongs_to_one_document(left: str, right: str) -> None:
    assert len(document_key(left)) == 32
    assert set(document_key(left)) <= set("abcdefghijklmnopqrstuvwxyz234567")
    assert (document_key(left) == document_key(right)) == (left == right)


def test_float32_goes_through_json_doubles_byte_for_byte() -> None:
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2**32, size=200_000, dtype=np.uint32).view(np.float32)
    values = patterns[np.isfinite(patterns)]
    assert len(values) > 190_000
    back = np.array(orjson.loads(orjson.dumps(values.tolist())), dtype=np.float32)
    assert back.tobytes() == values.tobytes()


@pytest.mark.parametrize("stored", [None, "x", [], [1.0], [0.0, 0.0], [1.0, 1e300], [1.0, None], [[1.0, 2.0]], {}])
def test_a_stored_vector_that_no_publication_wrote_is_damage(stored: object) -> None:
    with pytest.raises(StoreCorrupt, match="d#0"), np.errstate(over="ignore"):
        vector_from("d#0", stored, 2)
