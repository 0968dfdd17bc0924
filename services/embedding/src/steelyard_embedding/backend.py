"""The port to whatever makes vectors, and the checks that every backend's vectors pass.

Errors::

    EmbeddingBackendError      the backend failed or returned something unusable
    └── ModelChangedError      the probe text's vector is no longer what it was: the model was replaced
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]

PROBE_TEXT = "A steelyard weighs a load against a counterweight."
"""Embedded at start and again periodically: if its vector moves, somebody replaced the model."""

_PROBE_TOLERANCE = 1e-3


class EmbeddingBackendError(Exception):
    """The backend failed or returned something unusable."""


class ModelChangedError(EmbeddingBackendError):
    """The probe text's vector is no longer what it was at start."""


class EmbeddingBackend(Protocol):
    """Makes one vector per text. `max_tokens` counts special tokens; `revision` names the exact weights."""

    model_id: str
    revision: str
    dimension: int
    max_tokens: int

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as the model reads it, special tokens included."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors, float32 [len(texts), dimension], in the order of `texts`. Blocking."""


def checked(vectors: Vectors, count: int, dimension: int) -> Vectors:
    """Return `vectors` if they are `count` finite, non-zero ones of `dimension`; else raise EmbeddingBackendError."""
    if vectors.shape != (count, dimension):
        raise EmbeddingBackendError(f"the model returned shape {vectors.shape}, expected {(count, dimension)}")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows float32 is refused by name below
        norms = np.linalg.norm(vectors, axis=1)
    usable = np.isfinite(norms) & (norms > 0)
    if not usable.all():
        raise EmbeddingBackendError(f"the vector of text {int(np.flatnonzero(~usable)[0])} is not finite or is zero")
    return vectors


def same_direction(before: Vectors, now: Vectors) -> None:
    """Raise ModelChangedError unless two probe vectors [dimension] point the same way (cosine within 0.001 of 1)."""
    cosine = float(before @ now / (np.linalg.norm(before) * np.linalg.norm(now)))
    if not cosine > 1 - _PROBE_TOLERANCE:
        raise ModelChangedError(f"the probe text's vector has cosine {cosine:.4f} to the one at start")
