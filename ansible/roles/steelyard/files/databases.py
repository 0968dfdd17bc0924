"""Copies SQLite databases between volumes and a folder, in the container of the cli: `databases.py save|load`.

`save` takes a consistent copy while services write (SQLite's own backup), `load` puts copies back into volumes whose
services are stopped. Both print, for each database, its SHA-256 and the rows of each table as one line of JSON.

The copies are of different moments, the store's of the last: a document is in the store before a job says that it was
taken in, and before a ledger says that it was found. So neither tells of a document that the copied store never had.
"""

import hashlib
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

PLACES = {
    "jobs": Path("/data/store.db.jobs"),
    "ledgers": Path("/ledgers/ledgers.db"),
    "store": Path("/data/store.db"),
}
FOLDER = Path("/backup")


def copy(source: Path, target: Path) -> None:
    """Copy one database page by page, with what its write-ahead log holds."""
    target.touch(mode=0o600)  # as the services make their own
    with (
        closing(sqlite3.connect(f"file:{quote(str(source))}?mode=rw", uri=True)) as one,
        closing(sqlite3.connect(target)) as other,
    ):
        one.backup(other)


def described(path: Path) -> dict[str, object]:
    """The hash of a database file and the rows of each of its own tables."""
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as base:
        names = base.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
        ).fetchall()
        rows = {name: base.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for (name,) in names}  # noqa: S608
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "rows": rows}


def main(direction: str) -> int:
    """Save or load every database that there is; returns the exit code."""
    done = {}
    for name, place in PLACES.items():
        kept = FOLDER / f"{name}.db"
        source, target = (place, kept) if direction == "save" else (kept, place)
        if not source.exists():
            continue
        for old in (target, target.with_name(f"{target.name}-wal"), target.with_name(f"{target.name}-shm")):
            old.unlink(missing_ok=True)
        copy(source, target)
        done[name] = described(target)
    sys.stdout.write(json.dumps(done, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
