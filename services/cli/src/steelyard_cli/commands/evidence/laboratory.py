"""What the laboratory's commands share: its errors as the command's, its progress, policies from env files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from steelyard_runtime.settings.names import unknown_names

from ...configuration.envfile import read_env_file
from ...errors import CliError, ConfigurationError

if TYPE_CHECKING:
    from steelyard_evidence.policy import Policy


@contextmanager
def laboratory() -> Iterator[None]:
    """Turn the laboratory's errors into the command's: a refused input file exits 2, everything else 1."""
    from steelyard_evidence.errors import InputError, LaboratoryError

    try:
        yield
    except InputError as error:
        raise ConfigurationError(str(error)) from None
    except LaboratoryError as error:
        raise CliError(str(error)) from None
    except OSError as error:
        raise CliError(f"{error.filename}: {error.strerror}") from None


class Bar(Progress):
    """What is done and how much of it is left, on a terminal; nothing elsewhere."""

    def __init__(self, console: Console, *, wanted: bool = True) -> None:
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not (wanted and console.is_terminal),
        )
        self._task = self.add_task("", total=None)

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def tell(self, what: str, done: int, of: int) -> None:
        """Show how far the work is."""
        self.update(self._task, description=what, completed=done, total=of)


def policy(env_file: Path | None) -> "Policy":
    """The policy of an env file, the published defaults without one; raises ConfigurationError."""
    from steelyard_evidence.errors import PolicyError
    from steelyard_evidence.policy import Policy, read_policy

    if env_file is None:
        return Policy()
    settings = env_settings(env_file)
    try:
        return read_policy(settings)
    except PolicyError as error:
        raise ConfigurationError(f"{env_file}: {error}") from None


def env_settings(env_file: Path) -> dict[str, str]:
    """The settings of an env file, by name; raises ConfigurationError also for a name that no setting has."""
    settings = {name: value for name, (value, _) in read_env_file(env_file).items()}
    misspelt = unknown_names(settings)
    if misspelt:
        raise ConfigurationError("\n".join(f"{env_file}: {fault}" for fault in misspelt))
    return settings


def numbers(text: str, option: str) -> tuple[int, ...]:
    """Positive integers between commas, each once; raises ConfigurationError."""
    try:
        found = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise ConfigurationError(f"{option} {text!r} should be numbers between commas") from None
    if any(number < 1 for number in found):
        raise ConfigurationError(f"{option} {text!r} should be positive numbers")
    return tuple(dict.fromkeys(found))
