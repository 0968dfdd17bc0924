"""`steelyard up`, `down` and `status`."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer

from .. import options
from ..configuration import environment
from ..errors import StackError
from ..exits import ExitCode
from ..render.live import StackView
from ..render.stack import causes, stack_table
from ..stack.report import given_up, look_at_ports, look_at_run
from ..supervisor import launch
from ..supervisor.plan import RunFolder
from ..supervisor.processes import describe
from ..supervisor.state import ProcessPhase, RunRecord, read_record
from ..terminal import Terminal

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 1.0
_WATCH_PAUSE_S = 1.0
_STOP_S = 90.0


class _Interrupted(BaseException):
    """SIGTERM or Ctrl-C reached `up`: a request to stop, which no handler of errors may catch."""


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command()(up)
    app.command()(down)
    app.command()(status)


def up(
    as_json: options.Json = False,
    foreground: Annotated[
        bool,
        typer.Option("--foreground/--detach", help="Stay and stop the services at the end, or leave them running."),
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=1.0, max=options.LONGEST_TIMEOUT_S, help="Seconds until every service must be ready.")
    ] = 180.0,
    env_file: options.EnvFile = None,
    state_dir: options.NewStateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Start every service and wait until all are ready; a service that crashes later is started again."""
    # Imported here: the services' settings need numpy, which would slow down every command.
    from .. import model_files
    from ..configuration import settings_catalogue
    from ..stack import startup

    terminal = Terminal.open(as_json=as_json)
    origins = environment.apply(env_file)
    os.environ.update(startup.link(os.environ))
    folder = RunFolder(state_dir.absolute())
    record = launch.running(folder)
    if record is not None:
        _join(record, folder, terminal, timeout, foreground=foreground)
        return
    settings_catalogue.check()
    if model_files.lacks_only_the_llm(os.environ):
        os.environ["LLM_BACKEND"] = "extractive"
        terminal.note(
            "LLM_BACKEND=extractive: the language model's files are not here, so answers are verbatim sentences of the "
            "documents; `steelyard models fetch` brings them, and another `steelyard up` uses them"
        )
    plan = startup.make_plan(attached=foreground)
    left = launch.strays(folder)
    if left:
        raise StackError(
            "processes of an earlier run still run: " + ", ".join(f"{it.pid} ({describe(it.pid)})" for it in left),
            hint="Their supervisor was killed. Stop them with `steelyard down`.",
        )
    if origins.get("AUTH") == environment.LOCAL:
        terminal.note("AUTH=off: on loopback the gateway asks for no key; API_KEYS_FILE makes it ask")
    startup.check_models(plan)
    startup.check_ports(plan)
    with _interruptible():
        supervisor: subprocess.Popen[bytes] | None = None
        was_ready = False
        try:
            supervisor = launch.start(plan, folder)
            _wait_until_ready(folder, terminal, timeout)
            was_ready = True
            if foreground:
                terminal.note("Ctrl-C stops everything")
                _stay(folder, terminal)
        except StackError:
            terminal.note("stopping what was started")
            launch.stop(folder, _STOP_S, run_id=plan.run_id)
            raise
        except _Interrupted:
            terminal.note("stopping")
            launch.stop(folder, _STOP_S, run_id=plan.run_id)
            done = foreground and was_ready
            raise typer.Exit(int(ExitCode.OK if done else ExitCode.INTERRUPTED)) from None
        finally:
            if foreground and supervisor is not None:
                supervisor.wait()


def down(
    as_json: options.Json = False,
    timeout: Annotated[
        float, typer.Option(min=0.0, max=options.LONGEST_TIMEOUT_S, help="Seconds until what does not end is killed.")
    ] = _STOP_S,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Stop every service, in the reverse order of starting; also those whose supervisor was killed."""
    terminal = Terminal.open(as_json=as_json)
    done = launch.stop(RunFolder(state_dir.absolute()), timeout)
    if as_json:
        terminal.result(
            {
                "was_running": done.was_running,
                "strays": [process.pid for process in done.strays],
                "killed": [process.pid for process in done.killed],
            }
        )
        return
    for process in done.strays:
        terminal.note(f"pid {process.pid} had no supervisor any more")
    for process in done.killed:
        terminal.note(f"pid {process.pid} did not end in time and was killed")
    terminal.note("stopped" if done.was_running else "nothing was running")


def status(
    as_json: options.Json = False,
    env_file: options.EnvFile = None,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Show every service's process and readiness, with the causes; exit 3 when one is not ready."""
    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    folder = RunFolder(state_dir.absolute())
    record = read_record(folder.state)
    report = look_at_ports(os.environ) if record is None else look_at_run(record)
    if as_json:
        terminal.result(report)
    else:
        terminal.show(stack_table(report, terminal.out))
        if record is not None and report.supervisor is None:
            terminal.note("the supervisor is gone; `steelyard down` stops what it left", style="yellow")
    if not report.ready:
        if not as_json:
            terminal.note(causes(report.unready()))
        raise typer.Exit(int(ExitCode.UNAVAILABLE))


def _join(record: RunRecord, folder: RunFolder, terminal: Terminal, timeout: float, *, foreground: bool) -> None:
    said = f"already running since {record.started_at} (supervisor {record.supervisor.pid})"
    if foreground:
        raise StackError(said, hint="Stop it with `steelyard down` before starting it in the foreground.")
    terminal.note(f"{said}; nothing was started, and settings that changed since then are not in effect")
    _wait_until_ready(folder, terminal, timeout)


def _wait_until_ready(folder: RunFolder, terminal: Terminal, timeout: float) -> None:
    """Show the stack until all is ready. Raises StackError with every cause when that is not to be."""
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE_S
    with StackView(terminal.err) as view:
        while True:
            record = launch.running(folder)
            if record is None:
                _supervisor_is_gone(folder)
            report = look_at_run(record)
            view.update(report)
            if report.ready:
                break
            hopeless = given_up(record)
            if hopeless:
                # The record was written before the look, so its ends are in the report.
                _give_up([*report.unready()], f"{', '.join(hopeless)} can not be started")
            if time.monotonic() > deadline:
                _give_up(report.unready(), f"not ready after {timeout:g} s")
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)
    if terminal.as_json:
        terminal.result(report)
    else:
        terminal.show(stack_table(report, terminal.out))


def _stay(folder: RunFolder, terminal: Terminal) -> None:
    """Say what changes until the supervisor ends or `up` is interrupted."""
    before: dict[str, str] = {}
    while True:
        record = read_record(folder.state)
        if record is None or all(service.phase is ProcessPhase.STOPPED for service in record.services):
            terminal.note("stopped by another command")
            return
        if launch.running(folder) is None:
            _supervisor_is_gone(folder)
        report = look_at_run(record)
        for service in report.services:
            now = "ready" if service.ready else f"not ready: {service.causes[0] if service.causes else 'no cause'}"
            if before.get(service.name, "ready") != now:
                terminal.note(f"{service.name}: {now}")
            before[service.name] = now
        time.sleep(_WATCH_PAUSE_S)


def _give_up(unready: list[Any], headline: str) -> NoReturn:
    raise StackError(f"{headline}\n{causes(unready)}")


def _supervisor_is_gone(folder: RunFolder) -> NoReturn:
    raise StackError(f"the supervisor ended; its log is {folder.log('supervisor')}")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Turn SIGTERM and Ctrl-C into `_Interrupted`, so that both stop what was started."""

    def interrupt(_number: int, _frame: object) -> NoReturn:
        raise _Interrupted

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
