"""Vectors of the doubles of embedding servers: by hash, so that each belongs to its text and its model."""

import hashlib

import numpy as np

from steelyard_embedding.backends.port import Vectors

DIMENSION = 8


def raw_vector(text: str, weights: str = "1") -> list[float]:
    """A pure function of text and weights, of any length; texts that begin with `tie` all have the same."""
    seed = hashlib.sha256(f"{weights}\0{'tie' if text.startswith('tie') else text}".encode()).digest()[:8]
    return [float(x) for x in np.random.default_rng(int.from_bytes(seed)).normal(size=DIMENSION)]


def vector(text: str, weights: str = "1") -> Vectors:
    """What a backend should return for the text: `raw_vector` as a unit vector."""
    raw = np.array(raw_vector(text, weights))
    return np.asarray(raw / np.linalg.norm(raw), dtype=np.float32)


def words(text: str) -> int:
    """The doubles' tokens of a text: those of the tests' tiny tokenizer for its words, and two special tokens."""
    return len(text.replace(".", " . ").split()) + 2
