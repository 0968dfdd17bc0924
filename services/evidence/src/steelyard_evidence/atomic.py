"""Files that a reader sees whole or not at all."""

import tempfile
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write UTF-8 text beside `path`, then put it in its place; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}-", delete=False, encoding="utf-8", newline=""
    ) as stream:
        stream.write(text)
    Path(stream.name).chmod(0o644)
    Path(stream.name).replace(path)
