"""The file of API keys: JSON, read whole and replaced whole.

Errors::

    KeyFileError          the file can not be read or written, or is no key file; the message names file and fault
    └── NoKeyFileError    there is no such file
"""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from pathlib import Path

from pydantic import ValidationError

from steelyard_runtime import strict_json

from .record import KeyList

_LARGEST_BYTES = 16 * 2**20


class KeyFileError(Exception):
    """The key file can not be used."""


class NoKeyFileError(KeyFileError):
    """There is no such file."""


def read_keys(path: Path) -> KeyList:
    """The keys in a file; raises KeyFileError."""
    return read_stamped(path)[0]


def read_stamped(path: Path) -> tuple[KeyList, tuple[int, ...]]:
    """The keys in a file, with the stamp of exactly what was read; raises KeyFileError."""
    try:
        with path.open("rb") as stream:
            stamp = stamp_of(os.fstat(stream.fileno()))
            content = stream.read(_LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise NoKeyFileError(f"{path} does not exist; `steelyard keys add` makes it") from None
    except OSError as error:
        raise KeyFileError(f"{path} can not be read: {error.strerror}") from None
    if len(content) > _LARGEST_BYTES:
        raise KeyFileError(f"{path} is larger than {_LARGEST_BYTES} bytes")
    try:
        return KeyList.model_validate(strict_json.loads(content)), stamp
    except JSONDecodeError as error:
        raise KeyFileError(f"{path} is no key file: it is not JSON ({error.msg})") from None
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in fault["loc"]) or "the file"
        raise KeyFileError(f"{path} is no key file: {where}: {fault['msg']}") from None


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """What changes whenever a file is replaced or written: its inode, size and times."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def change_keys(path: Path, change: Callable[[KeyList], KeyList]) -> KeyList:
    """Replace the file's content by what `change` makes of it; an absent file is an empty list.

    Commands that change it at the same time wait for each other, and a reader sees the old content or the new, never a
    half. Owner and mode stay; a new file is its owner's alone, and made by root it gets the owner of its folder, who
    is the one that a container runs as. Raises KeyFileError.
    """
    try:
        with _locked(path):
            try:
                before = read_keys(path)
            except NoKeyFileError:
                before = KeyList()
            after = change(before)
            if after != before or not path.exists():
                _replace(path, after)
            return after
    except OSError as error:
        raise KeyFileError(f"{path} can not be written: {error.strerror}") from None


def _replace(path: Path, keys: KeyList) -> None:
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(keys.model_dump_json(indent=1) + "\n")
            stream.flush()
            _give(stream.fileno(), path)
            os.fsync(stream.fileno())
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _give(descriptor: int, path: Path) -> None:
    like = path.stat() if path.exists() else None
    if like is not None:
        os.fchmod(descriptor, like.st_mode & 0o777)
    if os.geteuid() == 0:
        owner = like or path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the folder, which stays the same file while the one in it is replaced."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
