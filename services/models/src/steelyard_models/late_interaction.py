"""Late interaction over token vectors (MaxSim), as published for ColBERT by Khattab and Zaharia, 2020.

Training-free here: the vectors are those of a sentence encoder. It is not a cross-encoder and must not be called one.
"""

import numpy as np

from .encoder import Vectors


def max_similarities(query: Vectors, document: Vectors) -> Vectors:
    """Return for each query token its best cosine among the document's tokens, float32 [query tokens].

    `query` is [q, d] and `document` [t, d] with rows of unit length. A zero row is a token that cannot be read: in the
    query it scores 0, in the document it is left out, so that unknown tokens never match each other for free. Without
    any readable document token every score is 0.
    """
    readable = document[np.any(document != 0, axis=1)]
    if len(readable) == 0 or len(query) == 0:
        return np.zeros(len(query), dtype=np.float32)
    best: Vectors = (query @ readable.T).max(axis=1)
    best[~np.any(query != 0, axis=1)] = 0.0
    # Rounding may leave 1.0000001 for two equal unit vectors.
    return np.clip(best, -1.0, 1.0)


def maxsim(query: Vectors, document: Vectors) -> float:
    """Return the mean of `max_similarities`, in [-1, 1]: a score that does not grow with the length of the query.

    An empty query scores 0.
    """
    best = max_similarities(query, document)
    return float(best.mean()) if len(best) else 0.0
