"""The scored candidates of one query, as columns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import InvalidCandidatesError, ScoreOutOfScaleError
from .text_identity import is_blank

# numpy's one-letter codes of the kinds of dtype that a column may come in
_REAL, _INTEGER = "fiu", "iu"
_KIND_NAMES = {_REAL: "numbers", _INTEGER: "integers"}


class Candidate(NamedTuple):
    """One scored chunk: a row of `Candidates`.

    `text` is `None` when it is not known, which is not the same as blank. `retrieval_rank` only breaks ties between
    equal scores; callers that know no rank leave it equal for all, and the chunk id breaks the tie.
    """

    chunk_id: str
    score: float
    token_count: int
    text: str | None = None
    retrieval_rank: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Candidates:
    """Columns of n candidates in any order; index i is the same chunk in every column.

    Attributes:
        chunk_ids: n unique, non-empty ids.
        scores: float64[n], kind `rerank`, in [0, 1]. A blank text was never scored; whatever score it carries only
            orders it among other blank texts.
        token_counts: int64[n], tokens of the chunk, all in one tokenizer, >= 0.
        texts: the stored texts; `None` is unknown.
        retrieval_ranks: int64[n], >= 0, lower is better.

    Raises:
        ScoreOutOfScaleError: a score is not finite or outside [0, 1].
        InvalidCandidatesError: columns of different length, a repeated or empty id, a count or rank that is negative
            or no integer.
    """

    chunk_ids: tuple[str, ...]
    scores: npt.NDArray[np.float64]
    token_counts: npt.NDArray[np.int64]
    texts: tuple[str | None, ...]
    retrieval_ranks: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunk_ids", tuple(self.chunk_ids))
        object.__setattr__(self, "texts", tuple(self.texts))
        object.__setattr__(self, "scores", _column("score", self.scores, _REAL))
        object.__setattr__(self, "token_counts", _column("token_count", self.token_counts, _INTEGER))
        object.__setattr__(self, "retrieval_ranks", _column("retrieval_rank", self.retrieval_ranks, _INTEGER))
        self._check_lengths()
        self._check_ids()
        in_scale = (self.scores >= 0.0) & (self.scores <= 1.0)  # false for NaN as well
        if not in_scale.all():
            worst = int(in_scale.argmin())
            raise ScoreOutOfScaleError(
                f"score of chunk {self.chunk_ids[worst]!r} must be a finite number in [0, 1], got {self.scores[worst]}"
            )
        for name, column in (("token_count", self.token_counts), ("retrieval_rank", self.retrieval_ranks)):
            if column.size and column.min() < 0:
                worst = int(column.argmin())
                raise InvalidCandidatesError(
                    f"{name} of chunk {self.chunk_ids[worst]!r} must be >= 0, got {column[worst]}"
                )

    @classmethod
    def from_records(cls, records: Iterable[Candidate]) -> "Candidates":
        """Turn rows into columns; raises what the constructor raises."""
        rows = tuple(records)
        ids, scores, token_counts, texts, ranks = zip(*rows, strict=True) if rows else ((), (), (), (), ())
        return cls(ids, np.asarray(scores), np.asarray(token_counts), texts, np.asarray(ranks))

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def canonical_order(self) -> tuple[list[int], int]:
        """Return the indices in the order in which every strategy works, and how many come before the blank texts.

        Descending score, ties by retrieval rank, then by chunk id; blank texts last, in that order among themselves.
        """
        blank = [text is not None and is_blank(text) for text in self.texts]
        keys = zip(
            blank, (-self.scores).tolist(), self.retrieval_ranks.tolist(), self.chunk_ids, range(len(self)), strict=True
        )
        return [key[-1] for key in sorted(keys)], len(self) - sum(blank)

    def _check_lengths(self) -> None:
        for name in ("scores", "token_counts", "texts", "retrieval_ranks"):
            length = len(getattr(self, name))
            if length != len(self.chunk_ids):
                raise InvalidCandidatesError(f"{name} has {length} entries for {len(self.chunk_ids)} chunk ids")

    def _check_ids(self) -> None:
        seen: set[str] = set()
        for chunk_id in self.chunk_ids:
            if not isinstance(chunk_id, str) or not chunk_id:
                raise InvalidCandidatesError(f"chunk_id must be a non-empty string, got {chunk_id!r}")
            if chunk_id in seen:
                raise InvalidCandidatesError(f"chunk_id {chunk_id!r} occurs more than once")
            seen.add(chunk_id)


def _column(name: str, values: npt.ArrayLike, kinds: str) -> npt.NDArray[Any]:
    """Return a one-dimensional copy; numpy would parse strings and count bools, so the kind is checked first."""
    column = np.array(values)
    if column.ndim != 1:
        raise InvalidCandidatesError(f"{name} must be a one-dimensional column, got shape {column.shape}")
    if column.size and column.dtype.kind not in kinds:
        raise InvalidCandidatesError(f"{name} must hold {_KIND_NAMES[kinds]}, got {column.dtype}")
    column = column.astype(np.float64 if kinds == _REAL else np.int64, copy=False)
    column.setflags(write=False)
    return column
