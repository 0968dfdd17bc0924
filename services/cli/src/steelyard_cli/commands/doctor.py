"""`steelyard doctor`."""

import typer

from .. import options
from ..configuration import environment
from ..exits import ExitCode
from ..terminal import Terminal


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(doctor)


def doctor(
    as_json: options.Json = False,
    env_file: options.EnvFile = None,
    state_dir: options.NewStateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Check the machine and the installation, and say how to mend what is wrong; exits 1 when something must be."""
    # Imported here: the store and the services' settings need numpy, which would slow down every command.
    from ..doctor.examine import examine
    from ..doctor.finding import Level, worst
    from ..render.findings import findings_table

    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    findings = examine(state_dir)
    level = worst(findings)
    if as_json:
        terminal.result({"level": level, "findings": [finding.model_dump() for finding in findings]})
    else:
        terminal.show(findings_table(findings, terminal.out))
    if level is Level.FAIL:
        raise typer.Exit(int(ExitCode.FAILED))
