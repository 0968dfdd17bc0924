"""Takes single collections out of the package `ansible`, whose wheel holds all of them: 15 MB instead of 547.

    python -m tools.ansible_collections FOLDER_OF_THE_WHEEL NAMESPACE/COLLECTION ...

Runs in the environment that is to have them, on the standard library alone, and needs no galaxy.
"""

import sys
import sysconfig
import zipfile
from pathlib import Path


def main(folder: Path, wanted: list[str]) -> int:
    """Unpack the collections into this environment; returns the exit code."""
    (wheel,) = folder.glob("ansible-*.whl")
    prefixes = tuple(f"ansible_collections/{name}/" for name in wanted)
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(prefixes)]
        archive.extractall(sysconfig.get_path("purelib"), names)
    missing = [prefix for prefix in prefixes if not any(name.startswith(prefix) for name in names)]
    if missing:
        sys.stderr.write(f"{wheel.name} has no {', '.join(missing)}\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
