"""`steelyard config`."""

import typer

from .. import options
from ..configuration import environment
from ..errors import ConfigurationError
from ..terminal import Terminal


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    config = typer.Typer(help="Explain and check the settings.", no_args_is_help=True)
    config.command()(explain)
    config.command()(check)
    app.add_typer(config, name="config")


def explain(as_json: options.Json = False, env_file: options.EnvFile = None) -> None:
    """Show every setting of every service with its effective value and where that comes from."""
    # Imported here: the services' settings need numpy, which would slow down every command.
    from ..configuration import settings_catalogue
    from ..render.settings import settings_table

    terminal = Terminal.open(as_json=as_json)
    origins = environment.apply(env_file)
    settings = settings_catalogue.explain(origins)
    faults = settings_catalogue.faults()
    if as_json:
        terminal.result({"settings": [setting.model_dump() for setting in settings], "faults": faults})
    else:
        terminal.show(settings_table(settings, terminal.out))
    if faults:
        raise ConfigurationError("\n".join(faults))


def check(as_json: options.Json = False, env_file: options.EnvFile = None) -> None:
    """Load the settings of every service as it would at its start; exits 2 naming every fault."""
    from ..configuration import settings_catalogue

    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    faults = settings_catalogue.faults()
    if as_json:
        terminal.result({"faults": faults})
    if faults:
        raise ConfigurationError("\n".join(faults))
    terminal.note(f"the settings of {', '.join(settings_catalogue.READERS)} are accepted")
