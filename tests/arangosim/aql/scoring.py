"""BM25 and TF-IDF over what a view has committed.

BM25 is Robertson and Zaragoza's with idf = ln(1 + (N - n + 0.5) / (n + 0.5)); a field whose analyzer lacks the feature
`frequency` scores 0, one without `norm` is not normalised by length. TF-IDF is sqrt(tf) * (1 + ln((N + 1) / (n + 1))).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from tests.arangosim.analyzers import Analyzer
from tests.arangosim.inverted import Counts, Field, IndexedDocument


class Hit(NamedTuple):
    """A term that matched, with its boost."""

    field: Field
    term: str
    boost: float
    analyzer: Analyzer


@dataclass(frozen=True)
class Scorer:
    """The matched terms of one document. `bm25` and `tfidf` are sums over them."""

    document: IndexedDocument
    hits: tuple[Hit, ...]
    counts: Counts

    def bm25(self, k: float = 1.2, b: float = 0.75) -> float:
        return sum(self._bm25(hit, k, b) for hit in self.hits if "frequency" in hit.analyzer.features)

    def _bm25(self, hit: Hit, k: float, b: float) -> float:
        frequencies = self.document.frequencies[hit.field]
        total, having = self.counts.documents(hit.field), self.counts.documents_with(hit.field, hit.term)
        idf = math.log1p((total - having + 0.5) / (having + 0.5))
        frequency = frequencies[hit.term]
        length = 1.0
        if "norm" in hit.analyzer.features:
            length = 1 - b + b * frequencies.total() / self.counts.average_length(hit.field)
        return hit.boost * idf * (k + 1) * frequency / (frequency + k * length)

    def tfidf(self, *, normalised: bool = False) -> float:
        return sum(self._tfidf(hit, normalised) for hit in self.hits if "frequency" in hit.analyzer.features)

    def _tfidf(self, hit: Hit, normalised: bool) -> float:
        frequencies = self.document.frequencies[hit.field]
        total, having = self.counts.documents(hit.field), self.counts.documents_with(hit.field, hit.term)
        value = hit.boost * math.sqrt(frequencies[hit.term]) * (1 + math.log((total + 1) / (having + 1)))
        return value / math.sqrt(frequencies.total()) if normalised else value
