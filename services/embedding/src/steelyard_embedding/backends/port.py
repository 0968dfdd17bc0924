"""The port to whatever makes vectors, and the checks that every backend's vectors pass.

Errors::

    UpstreamError              a model server failed; its code says how (`served.failure`)
    EmbeddingBackendError      the backend failed or returned something unusable
    └── ModelChangedError      the model is no longer the one at start: it was replaced
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
    """The model is no longer the one at start."""


class EmbeddingBackend(Protocol):
    """Makes one vector per text. What only a server knows is None, or `unknown`, until it has been looked at."""

    @property
    def model_id(self) -> str:
        """The name by which vectors are attributed to a model."""

    @property
    def revision(self) -> str:
        """Which weights made them; `unknown` where nobody says."""

    @property
    def dimension(self) -> int | None:
        """Of the vectors; None where only the first of them tells."""

    @property
    def max_tokens(self) -> int | None:
        """Tokens of the longest text that is read, special tokens included."""

    @property
    def tokenizer_sha256(self) -> str:
        """Names the tokenizer.json by which texts are measured."""

    @property
    def runs_at_once(self) -> int:
        """How many calls of `embed` it works on better together than one after the other."""

    @property
    def probe_interval_s(self) -> float:
        """How long the probe text's vector is good for: a hosted server bills each."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as the model reads it, special tokens included. Blocking."""

    async def look(self) -> None:
        """Raise unless the backend is there and is the one that was declared, and the one at start."""

    async def embed(self, texts: Sequence[str], *, deadline: float | None = None, probing: bool = False) -> Vectors:
        """Vectors, float32 [len(texts), dimension], in the order of `texts`, until the loop's time `deadline`.

        `probing` has a way of its own, so that a model that is only busy is not taken for one that does not answer.
        """


def checked(vectors: Vectors, count: int, dimension: int | None) -> Vectors:
    """Return `vectors` if they are `count` finite, non-zero ones of `dimension`; else raise EmbeddingBackendError.

    None takes any dimension.
    """
    expected = (count, vectors.shape[-1] if dimension is None else dimension)
    if vectors.shape != expected:
        raise EmbeddingBackendError(f"the model returned shape {vectors.shape}, expected {expected}")
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
