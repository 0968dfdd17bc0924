"""`steelyard evidence`: the laboratory."""

import typer

from . import calibrate, freeze, gate, inspect, report, run, study, survival


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    evidence = typer.Typer(
        help="Find where evidence is lost, prove that a change is better, gate the release.", no_args_is_help=True
    )
    for group in (inspect, freeze, run, report, gate, calibrate, study, survival):
        group.register(evidence)
    app.add_typer(evidence, name="evidence")
