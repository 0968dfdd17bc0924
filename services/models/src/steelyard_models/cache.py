"""The model cache: one folder per model, verified against the catalogue without any network.

Every file is hashed in full before it is used. Because hashing half a gigabyte takes about a second, the result is
remembered in `.verified.json` beside the files, keyed by size and modification time (ns): a file whose size or time
changed is hashed again. A change that keeps both (bit rot, a forged time) is found by `verify`, which always hashes.
"""

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .catalogue import Catalogue, Model, ModelFile, load_catalogue
from .errors import ModelCorruptError, ModelMissingError

STAMP_NAME = ".verified.json"
_BLOCK = 1 << 20


def default_cache_dir() -> Path:
    """`STEELYARD_MODEL_DIR`, else `steelyard/models` below `XDG_CACHE_HOME` or `~/.cache`."""
    named = os.environ.get("STEELYARD_MODEL_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "steelyard" / "models"


def locate(name: str, cache_dir: Path | None = None, *, catalogue: Catalogue | None = None) -> Path:
    """Return the folder of a model whose files are all present and verified; never touches the network.

    Trusts the stamp (see the module text). Raises `UnknownModelError`, `ModelMissingError` (with the command that
    fetches it) or `ModelCorruptError`.
    """
    model, folder = resolve(name, cache_dir, catalogue)
    stamp = read_stamp(folder)
    for file in model.files:
        if not is_stamped(folder, file, stamp):
            check_file(model, folder, file)
            stamp_file(folder, file)
    return folder


def verify(name: str, cache_dir: Path | None = None, *, catalogue: Catalogue | None = None) -> Path:
    """Like `locate`, but hash every file in full whatever the stamp says."""
    model, folder = resolve(name, cache_dir, catalogue)
    for file in model.files:
        check_file(model, folder, file)
        stamp_file(folder, file)
    return folder


def resolve(name: str, cache_dir: Path | None, catalogue: Catalogue | None) -> tuple[Model, Path]:
    """Return the stanza and its folder, which need not exist. Raises `UnknownModelError`."""
    model = (load_catalogue() if catalogue is None else catalogue).model(name)
    return model, (default_cache_dir() if cache_dir is None else cache_dir) / model.name


def check_file(model: Model, folder: Path, file: ModelFile) -> None:
    """Hash one cached file. Raises `ModelMissingError` or `ModelCorruptError`."""
    path = folder / file.name
    if not path.is_file():
        raise ModelMissingError(model.name, path)
    size = path.stat().st_size
    if size != file.size:
        raise ModelCorruptError(model.name, path, f"{file.size} bytes", f"{size} bytes")
    digest = sha256_of(path)
    if digest != file.sha256:
        raise ModelCorruptError(model.name, path, f"SHA-256 {file.sha256}", f"SHA-256 {digest}")


def sha256_of(path: Path, on_bytes: Callable[[int], None] | None = None) -> str:
    """Return the SHA-256 of a file in hex; `on_bytes` hears how many bytes each block had."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
            if on_bytes is not None:
                on_bytes(len(block))
    return digest.hexdigest()


def read_stamp(folder: Path) -> dict[str, Any]:
    """Return what `.verified.json` remembers; an unreadable stamp only costs a new hash, so it counts as empty."""
    try:
        stamp = json.loads((folder / STAMP_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def is_stamped(folder: Path, file: ModelFile, stamp: dict[str, Any]) -> bool:
    """Whether the stamp vouches for the file as it lies there now and for the hash that the catalogue pins now."""
    path = folder / file.name
    return path.is_file() and stamp.get(file.name) == _stamp_of(path, file)


def stamp_file(folder: Path, file: ModelFile) -> None:
    """Remember that `file` was just hashed.

    A folder that cannot be written (an image layer) has no memory: its files are hashed at each start.
    """
    if not os.access(folder, os.W_OK):
        return
    stamp = {**read_stamp(folder), file.name: _stamp_of(folder / file.name, file)}
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".stamp-", delete=False, encoding="utf-8") as stream:
        json.dump(stamp, stream, indent=1)
    Path(stream.name).replace(folder / STAMP_NAME)


def publish(partial: Path, target: Path) -> None:
    """Put a complete, verified file in place so that a reader or a power cut sees the old state or the new one."""
    with partial.open("rb") as stream:
        os.fsync(stream.fileno())
    partial.replace(target)
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def exclusive(folder: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the one lock of a model folder; the kernel frees it when the process ends, however it ends.

    `on_wait` is called once if another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+b") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _stamp_of(path: Path, file: ModelFile) -> dict[str, int | str]:
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": file.sha256}
