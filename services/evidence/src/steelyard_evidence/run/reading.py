"""The port to whoever reads pairs for a run, and what a reading says."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from steelyard_reranker.pairs import PairFormat, PairSettings

from ..manifest import FrozenCandidate, ModelIdentity

Span = tuple[int, int]


class Reading(NamedTuple):
    """What a reranker made of one candidate.

    `score` is None for a candidate that it could not read; `kept_spans` are half-open code-point spans of the text that
    it read; `windows` is how many parts it read them in.
    """

    score: float | None
    kept_spans: tuple[Span, ...]
    windows: int = 1


class Positions(NamedTuple):
    """The model's input positions: those that are no padding, and all."""

    real: int
    padded: int


@dataclass(frozen=True, slots=True)
class Readings:
    """The readings of one query's candidates, in their order, and what they cost.

    `seconds` is wall time. `positions` is None where a server makes the batches and tells nobody.
    """

    readings: tuple[Reading, ...]
    seconds: float
    positions: Positions | None


class Reader(Protocol):
    """Reads pairs with one model. `tokenizer` is the tokenizer.json that `pair_format` measures them with."""

    pair_format: PairFormat
    tokenizer: Path

    @property
    def identity(self) -> ModelIdentity:
        """The model, with its scores' scale."""

    @property
    def load_seconds(self) -> float:
        """What loading the model took."""

    def read(self, query: str, candidates: Sequence[FrozenCandidate], pairs: PairSettings) -> Readings:
        """Read candidates within the bounds of `pairs`.

        Raises UnsupportedLengthError for a budget that the model does not have.
        """
