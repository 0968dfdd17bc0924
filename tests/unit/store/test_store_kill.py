"""A writer that dies at a chosen step of SQLite's own program, in the middle of a publication."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

from steelyard_store.embedded import audit, create
from steelyard_store.embedded.reading import EmbeddedReading
from steelyard_store.embedded.writing import EmbeddedWriting
from tests.conformance.store.samples import MODEL, OPEN, publication

ROOT = Path(__file__).parents[3]
KILLS = 24
CHUNKS = {"r1": 5, "r2": 9}

# argv: path, steps. Prints the number of steps that the replacement takes if it is not killed before.
VICTIM = """
import os, signal, sys
from pathlib import Path
from steelyard_store.embedded.writing import EmbeddedWriting
from tests.conformance.store.samples import publication

writing, steps, limit = EmbeddedWriting(Path(sys.argv[1]), 5.0), 0, int(sys.argv[2])

def step():
    global steps
    steps += 1
    if steps == limit:
        os.kill(os.getpid(), signal.SIGKILL)

with writing._pool.connection() as connection:
    connection.set_progress_handler(step, 1)
writing.publish(*publication("d", ["new text"] * 9, revision="r2").args)
print(steps)
"""


def victim(path: Path, limit: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", VICTIM, str(path), str(limit)], cwd=ROOT, capture_output=True, text=True, check=False
    )


def prepared(path: Path) -> Path:
    create(path, MODEL)
    writing = EmbeddedWriting(path, 1.0)
    writing.publish(*publication("d", ["old text"] * 5).args)
    writing.publish(*publication("other").args)
    writing.close()
    return path


def test_a_writer_killed_at_any_step_leaves_the_old_or_the_new_revision_whole(tmp_path: Path) -> None:
    unhurt = victim(prepared(tmp_path / "unhurt.db"), 0)
    assert unhurt.returncode == 0, unhurt.stderr
    total = int(unhurt.stdout)
    # Every part of the publication is hit, its first and its last step too.
    points = [1, total, *(random.Random(6).sample(range(2, total), KILLS - 2))]
    for point in points:
        path = prepared(tmp_path / f"{point}.db")
        died = victim(path, point)
        assert died.returncode == -signal.SIGKILL, (point, died.stderr)
        assert audit(path) == [], point
        reading = EmbeddedReading(path, MODEL, 1.0)
        chunks = reading.document_chunks("d", OPEN, 0, None)
        assert {chunk.revision for chunk in chunks} in ({"r1"}, {"r2"}), point
        assert len(chunks) == CHUNKS[chunks[0].revision], point
        assert len(reading.search_lexical("text", 50, OPEN)) == len(chunks), point
        reading.close()
        writing = EmbeddedWriting(path, 1.0)
        again = writing.publish(*publication("d", ["new text"] * 9, revision="r2").args)
        assert again.status == ("unchanged" if chunks[0].revision == "r2" else "replaced"), point
        assert audit(path) == [], point
        writing.close()
