"""The local reranker: late interaction, with lexical overlap where the encoder cannot read, mapped to [0, 1]."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .calibration import Calibration, load_calibration
from .encoder import GoOn, OnnxTextEncoder, Vectors, always
from .errors import QueryTooLongError, TextTooLongError
from .foreign_script import coverage, foreign_grams, foreign_query_grams, has_foreign_letters
from .late_interaction import max_similarities, maxsim

Scores = npt.NDArray[np.float64]


class LateInteractionReranker:
    """Scores candidates for a query with one encoder. Safe to share between threads.

    A score depends on the query and the one candidate alone, never on the other candidates, so a threshold on it keeps
    its meaning from call to call.
    """

    def __init__(self, encoder: OnnxTextEncoder, calibration: Calibration | None = None) -> None:
        self._encoder = encoder
        self.calibration = load_calibration() if calibration is None else calibration

    def scores(self, query: str, documents: Sequence[str], *, go_on: GoOn = always) -> Scores:
        """Return each document's calibrated rerank score, float64 [len(documents)] in (0, 1): see `Calibration.score`.

        Raises as `raw_scores` does.
        """
        raw = self.raw_scores(query, documents, go_on=go_on)
        return np.array([self.calibration.score(score) for score in raw], dtype=np.float64)

    def raw_scores(self, query: str, documents: Sequence[str], *, go_on: GoOn = always) -> Scores:
        """Return raw scores, float64 [len(documents)] in [-1, 1]; a blank query or document scores 0.

        Raises `QueryTooLongError`, or `TextTooLongError` with the document's position, if a text does not fit the
        encoder (nothing is cut here), `GivenUpError`, and `EncoderError`.
        """
        try:
            query_vectors = self._encoder.token_vectors([query])[0]
        except TextTooLongError as error:
            raise QueryTooLongError(error.index, error.tokens, error.limit) from error
        document_vectors = self._encoder.token_vectors(documents, go_on=go_on)
        if has_foreign_letters(query):
            pairs = zip(documents, document_vectors, strict=True)
            return np.array([self._foreign(query, query_vectors, text, vectors) for text, vectors in pairs])
        readable = [self._readable(text, vectors) for text, vectors in zip(documents, document_vectors, strict=True)]
        return np.array([maxsim(query_vectors, vectors) for vectors in readable], dtype=np.float64)

    def _foreign(self, query: str, query_vectors: Vectors, document: str, vectors: Vectors) -> float:
        """Average over query tokens: cosines where the encoder reads, the mapped n-gram coverage where it does not.

        Punctuation is left out: beside letters without meaning its cosine would be the strongest voice.
        """
        foreign, latin = self._kinds(query)
        best = max_similarities(query_vectors[latin], self._readable(document, vectors))
        count = int(foreign.sum())
        shared = self.calibration.foreign_raw(coverage(foreign_query_grams(query), foreign_grams(document)))
        return (float(best.sum()) + count * shared) / (count + len(best))

    def _readable(self, text: str, vectors: Vectors) -> Vectors:
        if not has_foreign_letters(text):
            return vectors
        return vectors[~self._kinds(text)[0]]

    def _kinds(self, text: str) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which tokens have a foreign letter and which of the others have a letter or a digit."""
        spans = [text[start:end] for start, end in self._encoder.tokenizer.encode(text).offsets]
        foreign = np.array([has_foreign_letters(span) for span in spans], dtype=np.bool_)
        latin = np.array([any(c.isalnum() for c in span) for span in spans], dtype=np.bool_) & ~foreign
        return foreign, latin
