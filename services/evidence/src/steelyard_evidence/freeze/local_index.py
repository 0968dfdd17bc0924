"""Passages in memory with the embedded default's vectors: a snapshot without any service."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard_contracts.enums import ScoreKind
from steelyard_contracts.vectors import Vector
from steelyard_models.catalogue import Model
from steelyard_models.encoder import OnnxTextEncoder
from steelyard_models.errors import ModelError

from ..errors import RunError
from ..manifest import FrozenCandidate, ModelIdentity
from ..manifest.form import corpus_sha256, text_sha256
from ..tell import Progress, silent
from .snapshot import Retrieved
from .vector_cache import VectorCache


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A chunk and where it is from; `document` is its source name."""

    document: str
    revision: str
    start: int
    end: int
    text: str

    def candidate(self, tokens: int, cosine: float, embedding: Vector) -> FrozenCandidate:
        """The text as a candidate of length `tokens`, found by `embedding`."""
        return FrozenCandidate(
            id=f"{self.document}:{self.start}-{self.end}",
            document_id=self.document,
            revision=self.revision,
            scope="default",
            source=self.document,
            char_start=self.start,
            char_end=self.end,
            text=self.text,
            sha256=text_sha256(self.text),
            tokens=tokens,
            scores={ScoreKind.COSINE: cosine},
            embedding=embedding,
        )


class Hit(NamedTuple):
    """A text's position in the index and its cosine with a query."""

    row: int
    cosine: float


class LocalIndex:
    """Exhaustive cosine search over a list of texts.

    Raises RunError for a text that the model can not read, and CacheError.
    """

    def __init__(
        self,
        texts: Sequence[IndexedText],
        encoder: OnnxTextEncoder,
        model: Model,
        preprocessing: str,
        cache: VectorCache,
        on_texts: Progress = silent,
    ) -> None:
        self.preprocessing = preprocessing
        self.embedding_model = ModelIdentity(name=model.name, sha256=model.revision)
        self.texts = texts
        self.tokenizer = encoder.tokenizer
        self._encoder = encoder
        self._tokens = encoder.tokenizer.count_many([one.text for one in texts])
        try:
            self._vectors = cache.embed(encoder, [one.text for one in texts], on_texts)
        except ModelError as error:
            raise RunError(str(error)) from error

    def ranked(self, query: str) -> tuple[Vector, Iterator[Hit]]:
        """The query's vector, and every text, nearest first; ties keep the order of the texts. Raises RunError."""
        try:
            vector = self._encoder.embed([query])[0]
        except ModelError as error:
            raise RunError(str(error)) from error
        cosines = self._vectors @ vector
        rows = np.argsort(-cosines, kind="stable")
        return _wire(vector), (Hit(int(row), float(cosines[row])) for row in rows)

    def vector(self, row: int) -> Vector:
        """One text's vector."""
        return _wire(self._vectors[row])

    def retrieve(self, query: str, count: int) -> Retrieved:
        """See Snapshot."""
        vector, hits = self.ranked(query)
        found = [
            self.texts[row].candidate(self._tokens[row], cosine, self.vector(row))
            for row, cosine in islice(hits, count)
        ]
        return Retrieved(vector, found)

    def corpus_revision(self) -> str:
        """See Snapshot: the hash of every text."""
        return corpus_sha256((f"{one.document}:{one.start}", one.text) for one in self.texts)


def _wire(vector: npt.NDArray[np.float32]) -> Vector:
    return Vector(vector.astype("<f4").tobytes())
