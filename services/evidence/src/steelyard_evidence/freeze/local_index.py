"""Passages in memory with the embedded default's vectors: a snapshot without any service."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard_contracts.enums import ScoreKind
from steelyard_contracts.vectors import Vector
from steelyard_models.catalogue import Model
from steelyard_models.encoder import OnnxTextEncoder

from ..manifest import FrozenCandidate, ModelIdentity
from ..manifest.form import corpus_sha256, text_sha256
from .snapshot import Retrieved

_BATCH = 64


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A chunk and where it is from; `document` is its source name."""

    document: str
    revision: str
    start: int
    end: int
    text: str


class LocalIndex:
    """Exhaustive cosine search over a list of texts."""

    def __init__(
        self,
        texts: Sequence[IndexedText],
        encoder: OnnxTextEncoder,
        model: Model,
        preprocessing: str,
        on_texts: Callable[[int, int], None] = lambda _done, _of: None,
    ) -> None:
        self.preprocessing = preprocessing
        self.embedding_model = ModelIdentity(name=model.name, sha256=model.revision)
        self._texts = texts
        self._encoder = encoder
        self._tokens = encoder.tokenizer.count_many([one.text for one in texts])
        rows = [np.zeros((0, encoder.dimension), dtype=np.float32)]
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            rows.append(encoder.embed([one.text for one in batch]))
            on_texts(start + len(batch), len(texts))
        self._vectors: npt.NDArray[np.float32] = np.concatenate(rows)

    def retrieve(self, query: str, count: int) -> Retrieved:
        """See Snapshot; ties keep the order of the texts."""
        vector = self._encoder.embed([query])[0]
        cosines = self._vectors @ vector
        nearest = np.argsort(-cosines, kind="stable")[:count]
        return Retrieved(_wire(vector), [self._candidate(int(row), float(cosines[row])) for row in nearest])

    def corpus_revision(self) -> str:
        """See Snapshot: the hash of every text."""
        return corpus_sha256((f"{one.document}:{one.start}", one.text) for one in self._texts)

    def _candidate(self, row: int, cosine: float) -> FrozenCandidate:
        one = self._texts[row]
        return FrozenCandidate(
            id=f"{one.document}:{one.start}-{one.end}",
            document_id=one.document,
            revision=one.revision,
            scope="default",
            source=one.document,
            char_start=one.start,
            char_end=one.end,
            text=one.text,
            sha256=text_sha256(one.text),
            tokens=self._tokens[row],
            scores={ScoreKind.COSINE: cosine},
            embedding=_wire(self._vectors[row]),
        )


def _wire(vector: npt.NDArray[np.float32]) -> Vector:
    return Vector(vector.astype("<f4").tobytes())
