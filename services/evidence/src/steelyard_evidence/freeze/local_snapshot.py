"""A snapshot without any service, of documents that are cut here."""

from collections.abc import Callable, Iterable
from pathlib import Path

from steelyard_models.catalogue import Model
from steelyard_models.encoder import OnnxTextEncoder

from ..tell import Progress, silent
from .local_index import IndexedText, LocalIndex
from .parents import ParentIndex
from .sizes import Sizes
from .snapshot import Snapshot
from .vector_cache import VectorCache

Cut = Callable[[int], Iterable[IndexedText]]
"""Cuts the documents into texts of at most so many tokens."""


def local_snapshot(
    cut: Cut, sizes: Sizes, model: Model, encoder: OnnxTextEncoder, cache: Path, on_texts: Progress = silent
) -> Snapshot:
    """Search the chunks and read them, or their parents; raises as LocalIndex does, and what `cut` raises."""
    index = LocalIndex(
        list(cut(sizes.chunk)), encoder, model, sizes.preprocessing, VectorCache(cache, model.revision), on_texts
    )
    return index if sizes.parent is None else ParentIndex(index, list(cut(sizes.parent)), sizes.preprocessing)
