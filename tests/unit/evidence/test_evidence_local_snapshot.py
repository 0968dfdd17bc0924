"""Snapshots without a service: vectors that outlive a kill, parents around the chunks that are found."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from steelyard_evidence.errors import CacheError, DatasetError, RunError
from steelyard_evidence.freeze.local_index import IndexedText
from steelyard_evidence.freeze.local_snapshot import local_snapshot
from steelyard_evidence.freeze.parents import ParentIndex
from steelyard_evidence.freeze.sizes import Sizes
from steelyard_evidence.freeze.vector_cache import VectorCache
from steelyard_models.catalogue import load_catalogue
from steelyard_models.encoder import OnnxTextEncoder, Vectors
from tests.unit.models.tiny_encoder import write_encoder

MODEL = load_catalogue().model("all-minilm-l6-v2")
WORDS = ("a", "cat", "dog", "likes", "fish", "the", "sea")
TEXTS = [" ".join(WORDS[(i * j) % len(WORDS)] for j in range(1, 2 + i % 40)) for i in range(400)]


class Interrupted(BaseException):
    """A kill at a chosen moment."""


class CountingEncoder(OnnxTextEncoder):
    """Notes what it reads, and is interrupted after `most` readings."""

    read: list[list[str]]
    most = 1_000_000

    def embed(self, texts: Sequence[str]) -> Vectors:
        if len(self.read) == self.most:
            raise Interrupted
        self.read.append(list(texts))
        return super().embed(texts)


@pytest.fixture
def encoder(tmp_path: Path) -> CountingEncoder:
    made = CountingEncoder(write_encoder(tmp_path))
    made.read = []
    return made


def test_vectors_are_those_of_the_texts_in_their_order(encoder: CountingEncoder, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    found = VectorCache(tmp_path, "r1").embed(encoder, TEXTS, lambda done, of: told.append((done, of)))
    assert told[-1] == (400, 400)
    assert len(told) == len(encoder.read) > 1
    for row in (0, 17, 399):
        np.testing.assert_allclose(found[row], encoder.embed([TEXTS[row]])[0], atol=1e-5)


def test_a_reading_that_was_killed_goes_on_and_ends_with_the_same_bits(
    encoder: CountingEncoder, tmp_path: Path
) -> None:
    whole = VectorCache(tmp_path / "whole", "r1").embed(encoder, TEXTS)
    batches = len(encoder.read)
    encoder.read, encoder.most = [], batches - 1
    with pytest.raises(Interrupted):
        VectorCache(tmp_path / "killed", "r1").embed(encoder, TEXTS)
    encoder.read, encoder.most = [], batches
    assert VectorCache(tmp_path / "killed", "r1").embed(encoder, TEXTS).tobytes() == whole.tobytes()
    assert len(encoder.read) == 1


def test_another_model_and_another_text_are_read_anew(encoder: CountingEncoder, tmp_path: Path) -> None:
    VectorCache(tmp_path, "r1").embed(encoder, TEXTS[:3])
    VectorCache(tmp_path, "r1").embed(encoder, TEXTS[:3])
    assert len(encoder.read) == 1
    VectorCache(tmp_path, "r2").embed(encoder, TEXTS[:3])
    VectorCache(tmp_path, "r1").embed(encoder, [*TEXTS[:2], "a dog"])
    assert len(encoder.read) == 3


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY garbage", None])
def test_a_damaged_file_is_named(encoder: CountingEncoder, tmp_path: Path, damage: bytes | None) -> None:
    VectorCache(tmp_path, "r1").embed(encoder, ["a cat"])
    (path,) = tmp_path.rglob("*.npy")
    if damage is None:
        np.save(path, np.zeros((2, 3), dtype=np.float32))
    else:
        path.write_bytes(damage)
    with pytest.raises(CacheError, match=rf"{path.name}: .*remove it"):
        VectorCache(tmp_path, "r1").embed(encoder, ["a cat"])


DOCUMENT = "a cat likes fish | the dog likes the sea | the cat | the fish"


def cut(most: int) -> Iterator[IndexedText]:
    """Pieces between bars, two of them together where `most` allows it."""
    pieces = [(0, 16), (19, 40), (43, 50), (53, 61)] if most < 10 else [(0, 40), (43, 61)]
    return (IndexedText("story.md", "r1", start, end, DOCUMENT[start:end]) for start, end in pieces)


def test_parents_of_the_nearest_chunks_are_read_once_each(encoder: CountingEncoder, tmp_path: Path) -> None:
    snapshot = local_snapshot(cut, Sizes(5, 12), MODEL, encoder, tmp_path)
    found = snapshot.retrieve("the cat", 4).candidates
    assert [(one.char_start, one.char_end) for one in found] == [(43, 61), (0, 40)]
    assert found[0].text == DOCUMENT[43:61]
    assert found[0].tokens == encoder.tokenizer.count(found[0].text)
    assert len(snapshot.retrieve("the cat", 1).candidates) == 1
    plain = local_snapshot(cut, Sizes(5), MODEL, encoder, tmp_path)
    nearest = plain.retrieve("the cat", 1).candidates[0]
    assert (nearest.text, nearest.embedding) == ("the cat", found[0].embedding)
    assert plain.preprocessing != snapshot.preprocessing
    assert "parents of 12 tokens" in snapshot.preprocessing
    assert isinstance(snapshot, ParentIndex)
    assert plain.corpus_revision() == snapshot.corpus_revision()


def test_a_parent_that_is_no_longer_than_a_chunk_is_refused() -> None:
    with pytest.raises(DatasetError, match="a parent of 200 tokens is not longer than a chunk of 200"):
        Sizes(200, 200)


def test_a_text_that_the_model_can_not_read_is_an_error_of_the_run(encoder: CountingEncoder, tmp_path: Path) -> None:
    encoder.max_tokens = 4
    with pytest.raises(RunError, match="4"):
        local_snapshot(cut, Sizes(5), MODEL, encoder, tmp_path)
