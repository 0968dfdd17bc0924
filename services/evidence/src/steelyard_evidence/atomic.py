"""Files that a reader sees whole or not at all."""

import stat
import tempfile
from pathlib import Path

_USUAL_MODE = 0o644


def write_atomically(path: Path, text: str, mode: int | None = None) -> None:
    """Write UTF-8 text beside `path`, then put it in its place; raises OSError.

    Without `mode` a file that is there keeps its permissions. What a symbolic link points to is replaced, not the link.
    """
    path = path.resolve()
    if mode is None:
        mode = mode_of(path) if path.exists() else _USUAL_MODE
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}-", delete=False, encoding="utf-8", newline=""
    ) as stream:
        stream.write(text)
    Path(stream.name).chmod(mode)
    Path(stream.name).replace(path)


def mode_of(path: Path) -> int:
    """The permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)
