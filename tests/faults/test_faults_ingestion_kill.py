"""kill -9 in the middle of ingestion: what was acknowledged is there, nothing is half there, nothing is there twice.

The default run is a sample. `INGESTION_FAULTS=full` kills at 200 random moments and at every system call:

    INGESTION_FAULTS=full .venv/bin/pytest tests/faults/test_faults_ingestion_kill.py --timeout 7200 -s
"""

import os
import random
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.faults.ingestion_defects import DEFECTS
from tests.faults.ingestion_embedder import EmbedderDouble
from tests.faults.ingestion_lab import Lab, defective, text_of
from tests.faults.ingestion_strace import (
    DURABLE,
    attached,
    kill_tracee,
    killed,
    needs_strace,
    threads,
    under_strace,
)

FULL = os.environ.get("INGESTION_FAULTS") == "full"
RANDOM_KILLS = 200 if FULL else 20
SEED = 20
# A sample takes every so many-th point; the offset moves with the call, so that all regions are hit.
EVERY = 1 if FULL else 25

pytestmark = pytest.mark.timeout(7200 if FULL else 300)


@pytest.fixture
def lab(tmp_path: Path, embedder: EmbedderDouble) -> Iterator[Lab]:
    made = Lab(tmp_path, embedder)
    yield made
    made.kill()


def test_killed_at_random_moments(lab: Lab) -> None:
    rng = random.Random(SEED)
    unacknowledged = 0
    for kill in range(RANDOM_KILLS):
        lab.start()
        lab.resend_unacknowledged()
        assert lab.violations() == [], kill
        alive = threading.Event()
        alive.set()
        client = threading.Thread(target=_work, args=(lab, rng, alive))
        client.start()
        threading.Event().wait(rng.uniform(0.0, 0.8))
        alive.clear()
        lab.kill()
        client.join()
        unacknowledged += any(history.sent for history in lab.told.values())
        assert lab.violations() == [], kill
    lab.start()
    lab.resend_unacknowledged()
    assert lab.violations() == []
    print(f"\n{RANDOM_KILLS} random kills, {unacknowledged} of them within a request; {len(lab.told)} names")
    assert unacknowledged > 0


def _work(lab: Lab, rng: random.Random, alive: threading.Event) -> None:
    """Add, change, repeat and delete documents until the service is gone."""
    while alive.is_set():
        number = rng.randrange(12)
        name = f"größe/{number}.txt"
        known = lab.told.get(name)
        if rng.random() < 0.2 and known is not None:
            reply = lab.delete(name)
        elif rng.random() < 0.2 and known is not None and known.acknowledged is not None:
            reply = lab.send(name, known.acknowledged)
        else:
            reply = lab.send(name, text_of(number, rng.randrange(10**6), paragraphs=rng.randint(1, 40)))
        if reply is None:
            return


@needs_strace()
def test_killed_at_the_system_calls_of_a_replacement(lab: Lab) -> None:
    """Attached to one thread after the other of a warm process, so that no thread hides another's calls."""
    version = count()
    lab.start()
    lab.send("a.txt", text_of(1, next(version)))
    assert lab.service is not None
    kills = 0
    for thread in range(len(threads(lab.service.process.pid))):
        for call in ("write", "writev", "pwrite64", "fsync", "fdatasync", "connect", "sendto", "unlink"):
            first = 1 if FULL else 1 + (len(call) + thread) % EVERY
            for at in count(first, EVERY):
                assert lab.service is not None
                present = threads(lab.service.process.pid)
                if thread >= len(present):
                    break
                with attached(present[thread], f"{call}:signal=SIGKILL:when={at}"):
                    reply = lab.send("a.txt", text_of(1, next(version)))
                if reply is not None and lab.service.process.poll() is None:
                    # Fewer calls than that: all of this thread's have been hit.
                    break
                lab.kill()
                kills += 1
                assert lab.violations() == [], (thread, call, at)
                lab.start()
                lab.resend_unacknowledged()
                lab.send("a.txt", text_of(1, next(version)))
                assert lab.violations() == [], (thread, call, at)
    print(f"\nkilled at {kills} system calls of a replacement")
    assert kills > 0


@needs_strace()
def test_killed_at_the_system_calls_of_a_first_start(tmp_path: Path, embedder: EmbedderDouble) -> None:
    """The store is created, the embedding service found, the first document published."""
    kills = 0
    for call in DURABLE:
        for at in count(1 if FULL else 1 + len(call) % EVERY, EVERY):
            folder = tmp_path / f"{call}-{at}"
            folder.mkdir()
            log = folder / "strace.txt"
            lab = Lab(folder, embedder, command=under_strace(log, f"{call}:signal=SIGKILL:when={at}"))
            try:
                tracer = lab.start().process.pid
            except RuntimeError:
                # Killed before it listened.
                assert killed(log)
            else:
                lab.send("a.txt", text_of(1, 0))
                kill_tracee(tracer)
                lab.kill()
            hit = killed(log) and at <= _calls(log, call)
            assert lab.violations() == [], (call, at)
            lab.command = None
            lab.start()
            lab.resend_unacknowledged()
            assert lab.send("a.txt", text_of(1, 0)) is not None
            assert lab.violations() == [], (call, at)
            lab.kill()
            kills += hit
            if not hit:
                break
    print(f"\nkilled at {kills} system calls of a first start")
    assert kills > 0


def _calls(log: Path, call: str) -> int:
    """The largest number of these calls that one thread made."""
    made: dict[str, int] = {}
    for line in log.read_text(errors="replace").splitlines():
        thread, _, said = line.partition(" ")
        if said.lstrip().startswith(f"{call}("):
            made[thread] = made.get(thread, 0) + 1
    return max(made.values(), default=0)


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_oracle_sees_a_planted_defect(tmp_path: Path, embedder: EmbedderDouble, defect: str) -> None:
    lab = Lab(tmp_path, embedder, command=defective(defect))
    red: list[str] = []
    try:
        for attempt in range(20):
            lab.start()
            embedder.embedded.clear()
            client = threading.Thread(target=lab.send, args=("a.txt", text_of(1, attempt, paragraphs=30)))
            client.start()
            # From here on the document is on its way into the store; each attempt kills a little later.
            assert embedder.embedded.wait(60)
            client.join(timeout=0.05 * attempt)
            lab.kill()
            client.join()
            red = lab.violations()
            if red:
                break
    finally:
        lab.kill()
    assert red, f"nothing contradicts {defect}"
