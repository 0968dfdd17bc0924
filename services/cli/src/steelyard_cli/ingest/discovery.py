"""Which files `steelyard ingest` sends, and under which names."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from ..errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Found:
    """A file to ingest, and the name by which dataprep will know it."""

    path: Path
    name: str


class Skipped(BaseModel):
    """A path that is not sent, and why."""

    path: Path
    reason: str


def discover(paths: Iterable[Path]) -> tuple[list[Found], list[Skipped]]:
    """Files among `paths` and below its folders, sorted by name within each.

    Below a folder, hidden entries, symbolic links and what is no regular file are skipped; a path that is named itself
    is always meant. Below a folder a file's name is its path from there, so that equal names in two folders stay two
    documents. A file that is found twice is listed once. Raises ConfigurationError for a path that is not there.
    """
    found: list[Found] = []
    skipped: list[Skipped] = []
    for path in paths:
        if path.is_dir():
            for entry in _walk(path, path):
                if isinstance(entry, Found):
                    found.append(entry)
                else:
                    skipped.append(entry)
        elif path.is_file():
            found.append(Found(path, path.name))
        elif path.exists():
            skipped.append(Skipped(path=path, reason="is neither a file nor a folder"))
        else:
            raise ConfigurationError(f"{path} does not exist")
    return _once(found), skipped


def _walk(folder: Path, root: Path) -> Iterator[Found | Skipped]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Skipped(path=folder, reason=f"can not be read: {error.strerror}")
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith("."):
            yield Skipped(path=path, reason="is hidden")
        elif entry.is_symlink():
            yield Skipped(path=path, reason="is a symbolic link")
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(path, root)
        elif entry.is_file(follow_symlinks=False):
            yield Found(path, path.relative_to(root).as_posix())
        else:
            yield Skipped(path=path, reason="is neither a file nor a folder")


def _once(found: list[Found]) -> list[Found]:
    first: dict[Path, Found] = {}
    for file in found:
        first.setdefault(file.path.resolve(), file)
    return list(first.values())
