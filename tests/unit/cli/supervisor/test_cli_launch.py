"""A supervisor over one or two fake services: restarts, stops, and what is left when it is killed."""

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from steelyard_cli.errors import StackError
from steelyard_cli.supervisor import launch
from steelyard_cli.supervisor.plan import Plan, RunFolder, ServicePlan
from steelyard_cli.supervisor.processes import identify, is_running, of_run
from steelyard_cli.supervisor.state import ProcessPhase, read_record, write_record

_FAKE = Path(__file__).parents[1] / "fake_service.py"


_started = []


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_FOLDER", str(tmp_path))
    made = RunFolder(tmp_path / "state")
    yield made
    with suppress(StackError):
        launch.stop(made, 2.0)
    while _started:
        _started.pop().wait(timeout=30)


def plan(*names, **changes):
    services = [
        ServicePlan(
            name=name,
            command=[
                sys.executable,
                "-c",
                f"import runpy; runpy.run_path({str(_FAKE)!r})['serve']({name!r}, 'FAKE_PORT')",
            ],
            host="127.0.0.1",
            url="http://127.0.0.1:1",
            ready_path="/ready",
            port=1,
        )
        for name in names
    ]
    return Plan(services=services, backoff_first_s=0.01, backoff_longest_s=0.05, grace_s=5.0, **changes)


def start(folder, monkeypatch, planned, **behaviours):
    monkeypatch.setenv("FAKE_PORT", "0")
    for name, behaviour in behaviours.items():
        monkeypatch.setenv(f"FAKE_{name.upper()}", behaviour)
    supervisor = launch.start(planned, folder)
    _started.append(supervisor)
    return supervisor


def watch(folder, wanted):
    """Wait until the record is as `wanted`; pytest's timeout bounds the wait."""
    while not wanted(record := read_record(folder.state)):
        select.select([], [], [], 0.01)
    return record


def listens(folder, name, times=1):
    """Wait until a fake service has said for the `times`-th time that it listens."""
    log = folder.log(name)
    while not log.exists() or log.read_text().count('"listening"') < times:
        select.select([], [], [], 0.01)


def events(folder):
    return (folder.path.parents[1] / "events.txt").read_text().splitlines()


def test_a_service_that_ends_is_started_again(folder, monkeypatch):
    start(folder, monkeypatch, plan("a"), a="crash-once")
    record = watch(folder, lambda it: it.services[0].exits == 1 and it.services[0].phase is ProcessPhase.RUNNING)
    assert record.services[0].last_exit == "exit code 1"
    assert record.services[0].last_lines == ["the model file is torn", "RuntimeError: giving up"]
    listens(folder, "a")
    first = record.services[0].process
    os.kill(first.pid, signal.SIGKILL)
    record = watch(folder, lambda it: it.services[0].exits == 2 and it.services[0].process is not None)
    assert record.services[0].last_exit == "signal 9"
    assert record.services[0].process != first


def test_refused_settings_are_not_tried_again(folder, monkeypatch):
    start(folder, monkeypatch, plan("a", "b"), a="refuse")
    record = watch(folder, lambda it: it.services[0].phase is ProcessPhase.REFUSED)
    assert record.services[0].last_exit == "exit code 2"
    listens(folder, "b")
    launch.stop(folder, 10.0)
    assert events(folder).count("a started") == 1
    assert events(folder)[-1] == "b stopped"


def test_a_command_that_is_not_there_is_said(folder, monkeypatch):
    planned = plan("a")
    absent = planned.services[0].model_copy(update={"command": ["/absent/python"]})
    start(folder, monkeypatch, planned.model_copy(update={"services": [absent]}))
    record = watch(folder, lambda it: it.services[0].exits > 0)
    assert "/absent/python can not be started" in record.services[0].last_lines[0]


def test_what_ignores_sigterm_is_killed_after_its_grace(folder, monkeypatch):
    planned = plan("a").model_copy(update={"grace_s": 0.2})
    start(folder, monkeypatch, planned, a="stubborn")
    listens(folder, "a")
    stopped = launch.stop(folder, 30.0)
    assert stopped == launch.Stopped(was_running=True, strays=[], killed=[])
    assert of_run(planned.run_id) == []


def test_a_supervisor_that_does_not_end_in_time_is_killed_with_all_it_started(folder, monkeypatch):
    planned = plan("a")
    start(folder, monkeypatch, planned, a="stubborn")
    listens(folder, "a")
    record = read_record(folder.state)
    stopped = launch.stop(folder, 0.2)
    assert stopped.was_running
    assert record.supervisor in stopped.killed
    assert record.services[0].process in stopped.killed
    assert of_run(planned.run_id) == []


def test_workers_end_with_their_service(folder, monkeypatch):
    planned = plan("a")
    start(folder, monkeypatch, planned, a="worker")
    listens(folder, "a")
    worker = int((folder.path.parents[1] / "worker.pid").read_text())
    assert {process.pid for process in of_run(planned.run_id)} == {
        worker,
        read_record(folder.state).services[0].process.pid,
    }
    assert launch.stop(folder, 30.0).killed == []
    assert identify(worker) is None


def test_workers_of_a_service_that_crashed_end_before_it_is_started_again(folder, monkeypatch):
    planned = plan("a")
    start(folder, monkeypatch, planned, a="worker")
    listens(folder, "a")
    worker = int((folder.path.parents[1] / "worker.pid").read_text())
    os.kill(read_record(folder.state).services[0].process.pid, signal.SIGKILL)
    listens(folder, "a", times=2)
    assert identify(worker) is None


def test_services_go_on_when_their_supervisor_is_killed_and_stop_finds_them(folder, monkeypatch):
    planned = plan("a", "b")
    supervisor = start(folder, monkeypatch, planned, b="worker")
    listens(folder, "a")
    listens(folder, "b")
    record = read_record(folder.state)
    supervisor.kill()
    supervisor.wait()
    assert launch.running(folder) is None
    strays = set(launch.strays(folder))
    assert strays == set(of_run(planned.run_id)) > set(record.processes())
    stopped = launch.stop(folder, 1.0)
    assert (stopped.was_running, set(stopped.strays)) == (True, strays)
    assert [process.pid for process in stopped.killed] == [int((folder.path.parents[1] / "worker.pid").read_text())]
    assert of_run(planned.run_id) == []
    assert not folder.state.exists()


def test_a_child_that_the_record_does_not_name_is_found(folder, monkeypatch):
    planned = plan("a")
    supervisor = start(folder, monkeypatch, planned)
    listens(folder, "a")
    record = read_record(folder.state)
    supervisor.kill()
    supervisor.wait()
    child = record.services[0].process
    record.services[0].process = None
    write_record(folder.state, record)
    assert launch.strays(folder) == [child]
    assert launch.stop(folder, 5.0).strays == [child]
    assert not is_running(child)


def test_a_pid_that_belongs_to_another_now_is_left_alone(folder, monkeypatch):
    start(folder, monkeypatch, plan("a"))
    listens(folder, "a")
    record = read_record(folder.state)
    launch.stop(folder, 10.0)
    with subprocess.Popen(["sleep", "600"]) as bystander:
        for process in (record.supervisor, record.services[0].process):
            forged = json.loads(record.model_dump_json())
            forged["supervisor"]["pid"] = forged["services"][0]["process"]["pid"] = bystander.pid
            forged["supervisor"]["birth"] = forged["services"][0]["process"]["birth"] = process.birth
            folder.state.write_text(json.dumps(forged))
            assert launch.stop(folder, 1.0) == launch.Stopped(was_running=False, strays=[], killed=[])
        assert bystander.poll() is None
        bystander.kill()


def test_stop_of_one_run_leaves_another_alone(folder, monkeypatch):
    start(folder, monkeypatch, plan("a"))
    listens(folder, "a")
    assert not launch.stop(folder, 1.0, run_id="another").was_running
    assert launch.running(folder) is not None


def test_a_second_supervisor_does_not_start(folder, monkeypatch):
    start(folder, monkeypatch, plan("a"))
    with pytest.raises(StackError, match="another supervisor holds"):
        launch.start(plan("a"), folder)


def test_a_plan_that_is_none_is_refused(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "steelyard_cli.supervisor", "--state-dir", str(tmp_path)],
        input='{"services": 7}\n',
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "services" in done.stderr


def test_a_log_is_bounded_while_its_service_runs(folder, monkeypatch):
    start(folder, monkeypatch, plan("a", log_bytes=10))
    listens(folder, "a")
    older = folder.logs / "a.log.1"
    while not older.exists():
        select.select([], [], [], 0.05)
    assert '"listening"' in older.read_text()


def test_the_files_of_a_run_are_its_owners_only(folder, monkeypatch):
    start(folder, monkeypatch, plan("a"))
    assert folder.path.stat().st_mode & 0o077 == 0
    assert folder.logs.stat().st_mode & 0o077 == 0
