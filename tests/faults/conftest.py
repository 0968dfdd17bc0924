"""What the crash tests of ingestion share."""

from collections.abc import Iterator

import pytest

from .ingestion_embedder import EmbedderDouble


@pytest.fixture
def embedder() -> Iterator[EmbedderDouble]:
    """A double of the embedding service."""
    double = EmbedderDouble().start()
    yield double
    double.stop()
