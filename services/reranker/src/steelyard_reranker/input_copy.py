"""The copy of a candidate's text that the reranker is given; the stored text itself is never touched."""

from collections.abc import Sequence

STABLE_CHARS = 200
"""Below this a cross-encoder's scores become unstable; the service warns once at start."""


def bounded(texts: Sequence[str], max_chars: int) -> Sequence[str]:
    """Cut each text to its first `max_chars` code points; 0 gives back `texts` itself. The query is never cut."""
    return texts if max_chars == 0 else [text[:max_chars] for text in texts]
