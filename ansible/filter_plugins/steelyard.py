"""Filters of the role `steelyard`: the env file of a release, and the variables that nobody reads.

Plain functions without Ansible, so that they are tested with the rest of the project.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_PREFIX = "steelyard_"
_CLOSE = 0.6


def env_text(values: Mapping[str, Any], fixed: Mapping[str, Any], setting_of: Mapping[str, str]) -> str:
    """The env file of a release: `fixed` by name, and the setting of each variable in `values`.

    Raises ValueError, naming the setting, for a value that Compose would read as something else than it is.
    """
    lines = ["# Rendered by Ansible; the next run overwrites what is changed here."]
    lines += [f"{name}={quoted(name, value)}" for name, value in fixed.items()]
    lines += [f"{setting_of[name]}={quoted(setting_of[name], values[name])}" for name in sorted(values)]
    return "\n".join(lines) + "\n"


def quoted(name: str, value: Any) -> str:
    r"""One value in single quotes, the only form in which Compose takes `$`, ` #` and blanks as they are.

    A quote becomes `\'`; a backslash stays, because inside single quotes it is nothing special before other letters.
    """
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    reason = None
    if any(letter in text for letter in "\n\r\0"):
        reason = "holds a line break or NUL"
    elif text.endswith("\\"):
        reason = "ends with a backslash"
    elif "\\'" in text:
        reason = "holds a backslash before a quote"
    if reason is not None:
        raise ValueError(f"{name} {reason}, which an env file can not carry")
    return "'" + text.replace("'", "\\'") + "'"


def unknown(given: Iterable[str], own: Iterable[str], setting_of: Mapping[str, str]) -> list[str]:
    """One message for each given variable that is neither the role's own nor a setting's, with the nearest that is."""
    known = {name.removeprefix(_PREFIX) for name in [*own, *setting_of]}
    messages = []
    for name in sorted(given):
        short = name.removeprefix(_PREFIX)
        if short not in known:
            near = difflib.get_close_matches(short, sorted(known), n=1, cutoff=_CLOSE)
            hint = f"; did you mean {_PREFIX}{near[0]}?" if near else ""
            messages.append(f"{name} is not a variable of the role{hint}")
    return messages


class FilterModule:
    """What Ansible looks for in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """The filters by their names in templates."""
        return {"steelyard_env": env_text, "steelyard_unknown": unknown}
