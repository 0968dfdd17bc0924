"""The supervisor's parts: processes, ports, logs, backoff, records."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from steelyard_cli.errors import StackError
from steelyard_cli.supervisor import processes
from steelyard_cli.supervisor.backoff import Backoff
from steelyard_cli.supervisor.logfile import BoundedLog
from steelyard_cli.supervisor.ports import holder, is_free
from steelyard_cli.supervisor.processes import Identity, identify, is_running, of_run, terminate
from steelyard_cli.supervisor.state import LockedError, RunRecord, exclusive, read_record, write_record


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "600"], env={**os.environ, processes.RUN_MARKER: "run-7"})
    yield process
    process.kill()
    process.wait()


def test_a_process_is_known_by_pid_and_birth(sleeper):
    known = identify(sleeper.pid)
    assert known == identify(sleeper.pid)
    assert is_running(known)
    assert not is_running(Identity(pid=sleeper.pid, birth="another time"))


def test_a_process_that_ended_is_gone_even_before_its_parent_reaps_it(sleeper):
    known = identify(sleeper.pid)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert not is_running(known)
    sleeper.wait()
    assert not is_running(known)


def test_ps_tells_the_same_where_there_is_no_proc(sleeper, monkeypatch, tmp_path):
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    known = identify(sleeper.pid)
    assert is_running(known)
    assert of_run("run-7") == []
    sleeper.kill()
    sleeper.wait()
    assert not is_running(known)


def test_processes_of_a_run_carry_its_id(sleeper):
    assert of_run("run-7") == [identify(sleeper.pid)]
    assert of_run("run-") == []


def test_terminate_kills_what_does_not_listen():
    script = (
        "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(); sys.stdout.flush(); signal.pause()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as deaf:
        deaf.stdout.readline()
        known = identify(deaf.pid)
        assert terminate([known], 0.2) == [known]
        assert deaf.wait() == -signal.SIGKILL
    assert terminate([known], 0.2) == []


def test_a_port_is_free_or_its_holder_is_named():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert not is_free("127.0.0.1", port)
        assert holder(port).startswith(f"pid {os.getpid()} (")
    assert is_free("127.0.0.1", port)
    assert holder(port) == "a process that this user can not see"


def test_backoff_doubles_up_to_its_limit_and_starts_anew_after_a_stable_life():
    backoff = Backoff(first_s=0.5, longest_s=3.0, stable_s=60.0)
    assert [backoff.after(1.0) for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert backoff.after(60.0) == 0.5
    assert backoff.after(1.0) == 1.0


def test_backoff_stays_finite():
    backoff = Backoff(first_s=0.5, longest_s=30.0, stable_s=60.0)
    assert {backoff.after(0.0) for _ in range(5000)} == {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0}


def test_a_log_is_put_aside_at_its_limit_and_the_writer_goes_on(tmp_path):
    log = BoundedLog(tmp_path / "x.log", limit=100)
    with log.open() as stream:
        stream.write(b"a" * 100)
        log.bound()
        assert not (tmp_path / "x.log.1").exists()
        stream.write(b"b")
        log.bound()
        stream.write(b"c")
    assert (tmp_path / "x.log.1").read_bytes() == b"a" * 100 + b"b"
    assert (tmp_path / "x.log").read_bytes() == b"c"


def test_the_tail_is_the_latest_processs_own(tmp_path):
    log = BoundedLog(tmp_path / "x.log", limit=10**6)
    with log.open() as stream:
        stream.write(b"of the first\n")
    with log.open() as stream:
        stream.write(b"one\ntwo \xff\nthree\n")
    assert log.tail(2) == ["two \ufffd", "three"]
    assert log.tail(9) == ["one", "two \ufffd", "three"]


def test_the_tail_of_a_log_that_is_gone_says_so(tmp_path):
    log = BoundedLog(tmp_path / "x.log", limit=100)
    log.open().close()
    (tmp_path / "x.log").unlink()
    assert log.tail(3) == [f"{tmp_path / 'x.log'} can not be read: No such file or directory"]


def test_a_record_survives_writing_and_reading(tmp_path):
    path = tmp_path / "state.json"
    assert read_record(path) is None
    record = RunRecord(run_id="r", supervisor=Identity(pid=1, birth="b"), services=[])
    write_record(path, record)
    assert read_record(path) == record
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_a_record_that_is_torn_is_named(tmp_path):
    path = tmp_path / "state.json"
    path.write_text('{"run_id": ')
    with pytest.raises(StackError, match=r"state\.json can not be read"):
        read_record(path)


def test_a_lock_is_held_once(tmp_path):
    with exclusive(tmp_path / "lock"), pytest.raises(LockedError, match="lock"), exclusive(tmp_path / "lock"):
        raise AssertionError("held twice")
    with exclusive(tmp_path / "lock"):
        pass
