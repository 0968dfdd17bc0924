"""Env files, read strictly: what a shell, Compose and systemd would each read differently is refused.

A line is `KEY=VALUE`, `KEY='VALUE'`, `KEY="VALUE"`, blank, or a comment that begins with `#`. There is no expansion:
a value is what is written. A bare value must not hold quotes or ` #`, because other readers cut it there.
"""

import re
from pathlib import Path

from ..errors import ConfigurationError

_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


def read_env_file(path: Path) -> dict[str, tuple[str, int]]:
    """Return each variable's value and line number; raises ConfigurationError naming every faulty line at once."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is not UTF-8") from None
    values: dict[str, tuple[str, int]] = {}
    faults = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            pair = _parse(line.removesuffix("\r"))
            if pair is not None and pair[0] in values:
                raise ValueError(f"{pair[0]} is already set in line {values[pair[0]][1]}")
        except ValueError as fault:
            faults.append(f"{path}:{number}: {fault}")
        else:
            if pair is not None:
                values[pair[0]] = (pair[1], number)
    if faults:
        raise ConfigurationError("\n".join(faults))
    return values


def _parse(line: str) -> tuple[str, str] | None:
    stripped = line.strip()
    if not stripped or stripped.startswith("#"):
        return None
    name, equals, value = stripped.partition("=")
    if not equals:
        raise ValueError(f"{name.split()[0]!r} has no '='")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a name of capitals, digits and '_'")
    return name, _value(name, value)


def _value(name: str, value: str) -> str:
    if "\0" in value:
        raise ValueError(f"{name} holds a NUL character")
    quote = value[:1]
    if quote in {"'", '"'}:
        inner = value[1:-1]
        if len(value) < 2 or value[-1] != quote or quote in inner:
            raise ValueError(f"{name} has a {quote} that is not closed at the end of the line")
        return inner
    if value != value.strip() or " #" in value or "'" in value or '"' in value:
        raise ValueError(f"{name} needs quotes: its value has a quote, a leading blank or ' #' in it")
    return value
