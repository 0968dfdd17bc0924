"""`up`, `down` and `status` over fake services that are real processes."""

import json
import os
import select
import shutil
import signal
import socket
from pathlib import Path

import pytest

from steelyard_cli.supervisor.processes import is_running, of_run
from steelyard_cli.supervisor.state import RunRecord


def record_of(stack):
    return RunRecord.model_validate(stack.record())


def read_until(stream, text):
    """Read a process's output until a line holds `text`; pytest's timeout bounds the wait."""
    lines = []
    for line in stream:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"{text!r} never came; got {lines}")


def wait_for_exit(process):
    descriptor = os.pidfd_open(process.pid)
    try:
        assert select.select([descriptor], [], [], 30)[0]
    finally:
        os.close(descriptor)


def test_up_waits_for_readiness_and_down_stops_in_reverse_order(stack):
    up = stack.run("up", "--json")
    assert up.returncode == 0, up.stderr
    report = json.loads(up.stdout)
    assert report["ready"] is True
    assert [service["name"] for service in report["services"]] == [
        "llm", "embedding", "retriever", "reranker", "dataprep", "chatqna",
    ]  # fmt: skip
    assert [service["url"] for service in report["services"]] == [
        f"http://127.0.0.1:{port}" for port in stack.ports.values()
    ]
    status = stack.run("status", "--json")
    assert status.returncode == 0
    assert json.loads(status.stdout)["ready"] is True
    children = record_of(stack).processes()
    assert len(children) == 6
    text = Path(f"/proc/{children[-1].pid}/environ").read_text()
    environ = dict(pair.split("=", 1) for pair in text.split("\0") if "=" in pair)
    assert environ["EMBEDDING_URL"] == f"http://127.0.0.1:{stack.ports['embedding']}"
    assert environ["LLM_URL"] == f"http://127.0.0.1:{stack.ports['llm']}"
    assert environ["AUTH"] == "off"
    assert "AUTH=off: on loopback the gateway asks for no key" in up.stderr

    down = stack.run("down", "--json")
    assert down.returncode == 0
    assert json.loads(down.stdout) == {"was_running": True, "strays": [], "killed": []}
    assert not any(is_running(child) for child in children)
    stopped = [line.split()[0] for line in (stack.folder / "events.txt").read_text().splitlines() if "stopped" in line]
    assert stopped == ["chatqna", "dataprep", "reranker", "retriever", "embedding", "llm"]


def test_starting_twice_says_so_and_starts_nothing(stack):
    assert stack.run("up").returncode == 0
    before = record_of(stack)
    again = stack.run("up", "--json")
    assert again.returncode == 0
    assert f"already running since {before.started_at}" in again.stderr
    assert json.loads(again.stdout)["supervisor"] == before.supervisor.pid
    assert record_of(stack).processes() == before.processes()
    foreground = stack.run("up", "--foreground")
    assert foreground.returncode == 3
    assert "steelyard down" in foreground.stderr


def test_down_without_a_run_is_no_error(stack):
    stack.state_dir.mkdir()
    down = stack.run("down")
    assert (down.returncode, down.stdout) == (0, "")
    assert "nothing was running" in down.stderr


def test_status_without_a_run_looks_at_the_ports(stack):
    stack.state_dir.mkdir()
    status = stack.run("status", "--json")
    assert status.returncode == 3
    report = json.loads(status.stdout)
    assert report["supervisor"] is None
    assert {tuple(service["causes"]) for service in report["services"]} == {("nothing listens there",)}


def test_a_service_that_is_not_ready_is_named_with_its_cause_and_all_are_stopped(stack):
    stack.behave["retriever"] = "unready"
    up = stack.run("up", "--timeout", "6")
    assert up.returncode == 3
    assert f"retriever (http://127.0.0.1:{stack.ports['retriever']}) is not ready: store: the store file is locked" in (
        up.stderr
    )
    assert "embedding (" not in up.stderr
    assert up.stdout == ""
    assert stack.events("embedding") == ["started", "stopped"]
    assert not (stack.state_dir / "run" / "state.json").exists()


def test_refused_settings_end_the_start_with_the_services_own_words(stack):
    stack.behave["reranker"] = "refuse"
    up = stack.run("up", "--json")
    assert up.returncode == 3
    assert up.stdout == ""
    error = json.loads(up.stderr.splitlines()[-1])["error"]
    assert error["code"] == "not_ready"
    assert "reranker can not be started" in error["message"]
    assert "refused to start (exit code 2)" in error["message"]
    assert "RERANKER_PORT='x' should be a whole number" in error["message"]
    assert stack.events("reranker") == ["started"]


def test_a_service_that_keeps_ending_is_given_up_with_its_last_lines(stack):
    stack.behave["embedding"] = "crash"
    up = stack.run("up")
    assert up.returncode == 3
    assert "embedding can not be started" in up.stderr
    assert "RuntimeError: giving up" in up.stderr
    assert "embedding.log" in up.stderr
    assert stack.events("embedding") == ["started"] * 3
    assert "the model file is torn" in (stack.state_dir / "logs" / "embedding.log").read_text()


def test_a_taken_port_is_named_with_its_holder_and_nothing_is_started(stack):
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", stack.ports["dataprep"]))
        squatter.listen()
        up = stack.run("up")
    assert up.returncode == 3
    assert f"dataprep: port {stack.ports['dataprep']} is taken by pid {os.getpid()} (" in up.stderr
    assert not (stack.folder / "events.txt").exists()


def test_missing_model_files_are_named_with_their_fix_and_nothing_is_started(stack):
    shutil.rmtree(stack.models)
    up = stack.run("up")
    assert up.returncode == 2
    for name in ("all-minilm-l6-v2", "qwen2.5-coder-0.5b-instruct-q4_k_m"):
        assert f"model {name}: " in up.stderr
        assert f"fix: steelyard models fetch {name}" in up.stderr
    assert not (stack.folder / "events.txt").exists()


LLM_MODEL = "qwen2.5-coder-0.5b-instruct-q4_k_m"


def test_without_the_files_of_the_default_language_model_sentences_answer(stack):
    shutil.rmtree(stack.models / LLM_MODEL)
    doctor = json.loads(stack.run("doctor", "--json").stdout)
    [finding] = [finding for finding in doctor["findings"] if finding["name"] == f"model {LLM_MODEL}"]
    assert (finding["level"], finding["fix"]) == ("warn", f"steelyard models fetch {LLM_MODEL}")
    assert "verbatim sentences" in finding["found"]
    up = stack.run("up", "--json")
    assert up.returncode == 0, up.stderr
    assert "LLM_BACKEND=extractive: the language model's files are not here" in up.stderr
    assert "llm" not in [service["name"] for service in json.loads(up.stdout)["services"]]
    gateway = record_of(stack).processes()[-1]
    assert "LLM_BACKEND=extractive" in Path(f"/proc/{gateway.pid}/environ").read_text().split("\0")


@pytest.mark.parametrize("said", [{"LLM_BACKEND": "openai"}, {"LLM_MODEL_ID": LLM_MODEL}])
def test_a_language_model_that_was_asked_for_is_not_replaced(stack, said):
    shutil.rmtree(stack.models / LLM_MODEL)
    stack.given.update(said)
    up = stack.run("up")
    assert up.returncode == 2
    assert f"fix: steelyard models fetch {LLM_MODEL}" in up.stderr
    assert not (stack.folder / "events.txt").exists()


def test_a_language_model_with_a_wrong_file_is_not_replaced(stack):
    [file] = (stack.models / LLM_MODEL).glob("*.gguf")
    file.write_bytes(b"torn")
    up = stack.run("up")
    assert up.returncode == 2
    assert f"model {LLM_MODEL}: " in up.stderr


def test_two_services_on_one_port_are_refused_before_anything_starts(stack):
    stack.ports["retriever"] = stack.ports["embedding"]
    up = stack.run("up")
    assert up.returncode == 2
    assert "RETRIEVER_PORT" in up.stderr
    assert "EMBEDDING_PORT" in up.stderr


@pytest.mark.parametrize("port", ["0", "seven"])
def test_a_port_that_no_peer_could_reach_is_refused(stack, port):
    stack.ports["chatqna"] = port
    up = stack.run("up")
    assert up.returncode == 2
    assert f"CHATQNA_PORT='{port}'" in up.stderr
    assert "65535" in up.stderr
    assert not (stack.folder / "events.txt").exists()


def test_down_finds_what_a_killed_supervisor_left(stack):
    stack.behave["dataprep"] = "worker"
    assert stack.run("up").returncode == 0
    record = record_of(stack)
    worker = int((stack.folder / "worker.pid").read_text())
    os.kill(record.supervisor.pid, signal.SIGKILL)

    status = stack.run("status")
    assert status.returncode == 0
    assert "the supervisor is gone" in status.stderr
    up = stack.run("up")
    assert up.returncode == 3
    assert "processes of an earlier run still run" in up.stderr

    down = stack.run("down", "--timeout", "1", "--json")
    done = json.loads(down.stdout)
    assert set(done["strays"]) == {child.pid for child in record.processes()} | {worker}
    assert done["killed"] == [worker]
    assert of_run(record.run_id) == []


def test_foreground_stops_everything_on_sigterm(stack):
    with stack.start("up", "--foreground") as up:
        read_until(up.stdout, "chatqna")
        read_until(up.stderr, "Ctrl-C stops everything")
        record = record_of(stack)
        up.send_signal(signal.SIGTERM)
        wait_for_exit(up)
        assert up.wait() == 0
        up.stdout.close()
        up.stderr.close()
    assert of_run(record.run_id) == []
    assert not is_running(record.supervisor)


def test_the_services_end_with_a_foreground_command_that_is_killed(stack):
    with stack.start("up", "--foreground") as up:
        read_until(up.stdout, "chatqna")
        record = record_of(stack)
        supervisor = os.pidfd_open(record.supervisor.pid)
        up.kill()
        assert select.select([supervisor], [], [], 30)[0]
        os.close(supervisor)
        up.stdout.close()
        up.stderr.close()
    assert of_run(record.run_id) == []


@pytest.mark.parametrize("mode", ["--detach", "--foreground"])
def test_interrupting_the_start_stops_what_was_started(stack, mode):
    stack.behave["chatqna"] = "silent"
    with stack.start("up", mode) as up:
        read_until(up.stderr, "chatqna: does not listen yet")
        record = record_of(stack)
        up.send_signal(signal.SIGINT)
        assert up.wait() == 130
        up.stdout.close()
        up.stderr.close()
    assert of_run(record.run_id) == []


def test_an_env_file_is_read_and_the_environment_wins(stack):
    port = stack.ports.pop("chatqna")
    env_file = stack.folder / "some.env"
    env_file.write_text(f"CHATQNA_PORT={port}\nEMBEDDING_PORT=1\nLLM_BACKEND=extractive\n")
    up = stack.run("up", "--json", "--env-file", str(env_file))
    assert up.returncode == 0, up.stderr
    urls = {service["name"]: service["url"] for service in json.loads(up.stdout)["services"]}
    assert urls["chatqna"] == f"http://127.0.0.1:{port}"
    assert urls["embedding"] == f"http://127.0.0.1:{stack.ports['embedding']}"
    assert "llm" not in urls


def test_a_faulty_env_file_is_refused(stack):
    env_file = stack.folder / "some.env"
    env_file.write_text("CHATQNA_PORT\n")
    up = stack.run("up", "--env-file", str(env_file))
    assert up.returncode == 2
    assert f"{env_file}:1: 'CHATQNA_PORT' has no '='" in up.stderr


def test_of_two_commands_at_once_one_starts_the_stack_and_neither_stops_the_others(stack):
    with stack.start("up", "--json") as first, stack.start("up", "--json") as second:
        outputs = [process.communicate(timeout=120) for process in (first, second)]
    codes = {first.returncode, second.returncode}
    assert codes <= {0, 3}, outputs
    assert 0 in codes, outputs
    assert stack.run("status").returncode == 0
    assert [stack.events(name) for name in stack.ports] == [["started"]] * 6


def test_a_foreground_command_ends_well_when_another_stops_the_stack(stack):
    with stack.start("up", "--foreground") as up:
        read_until(up.stdout, "chatqna")
        assert stack.run("down").returncode == 0
        _, err = up.communicate(timeout=60)
    assert up.returncode == 0
    assert "stopped by another command" in err
