"""Small texts are searched and the larger ones around them are read, as a store does that expands its hits."""

from collections import defaultdict
from collections.abc import Sequence

from ..manifest import FrozenCandidate, ModelIdentity
from .local_index import IndexedText, LocalIndex
from .snapshot import Retrieved


class ParentIndex:
    """Candidates are the parents of the nearest chunks, each once, with the vector of the chunk that found it."""

    def __init__(self, index: LocalIndex, parents: Sequence[IndexedText], preprocessing: str) -> None:
        self.preprocessing = preprocessing
        self.embedding_model: ModelIdentity = index.embedding_model
        self._index = index
        self._parents = parents
        self._tokens = index.tokenizer.count_many([one.text for one in parents])
        self._parent_of = _parents_of(index.texts, parents)

    def retrieve(self, query: str, count: int) -> Retrieved:
        """See Snapshot."""
        vector, hits = self._index.ranked(query)
        found: dict[int, FrozenCandidate] = {}
        for row, cosine in hits:
            parent = self._parent_of[row]
            if parent not in found:
                found[parent] = self._parents[parent].candidate(self._tokens[parent], cosine, self._index.vector(row))
            if len(found) == count:
                break
        return Retrieved(vector, list(found.values()))

    def corpus_revision(self) -> str:
        """See Snapshot."""
        return self._index.corpus_revision()


def _parents_of(chunks: Sequence[IndexedText], parents: Sequence[IndexedText]) -> list[int]:
    """For each chunk the position of the parent that shares most of its characters with it, of equals the first."""
    of_document: dict[str, list[int]] = defaultdict(list)
    for position, parent in enumerate(parents):
        of_document[parent.document].append(position)
    return [
        max(of_document[chunk.document], key=lambda position: _shared(chunk, parents[position])) for chunk in chunks
    ]


def _shared(one: IndexedText, other: IndexedText) -> int:
    return min(one.end, other.end) - max(one.start, other.start)
