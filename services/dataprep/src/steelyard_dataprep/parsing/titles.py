"""A title for documents that do not carry one, and the sentences about what was not read."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath


def title_from_name(name: str) -> str:
    """Return the file name without folders and extension."""
    return PurePosixPath(name.replace("\\", "/")).stem or name


def notes_on(ignored: Counter[str]) -> tuple[str, ...]:
    """Return one sentence for each kind of element that was passed over."""
    return tuple(f"{kind} ignored: {count}" for kind, count in sorted(ignored.items()))
