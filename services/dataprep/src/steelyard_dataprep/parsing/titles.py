"""A title for documents that do not carry one."""

from __future__ import annotations

from pathlib import PurePosixPath


def title_from_name(name: str) -> str:
    """Return the file name without folders and extension."""
    return PurePosixPath(name.replace("\\", "/")).stem or name
