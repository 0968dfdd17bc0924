"""The table of `steelyard config explain`."""

from rich.console import Console, RenderableType
from rich.text import Text

from ..configuration.settings_catalogue import SettingReport
from .tables import table
from .text import one_line


def settings_table(settings: list[SettingReport], console: Console) -> RenderableType:
    """One row per setting; what is not a default stands out."""
    made = table(console)
    made.add_column("setting", no_wrap=True)
    made.add_column("value", overflow="fold")
    made.add_column("from", overflow="fold")
    made.add_column("read by", overflow="fold")
    made.add_column("meaning", overflow="fold")
    for setting in settings:
        is_set = setting.origin != "default"
        made.add_row(
            Text(setting.name, style="bold" if is_set else ""),
            _written(setting.value),
            Text(setting.origin, style="green" if is_set else "dim"),
            ", ".join(setting.read_by),
            one_line(setting.description),
        )
    return made


def _written(value: object) -> str:
    """The value as it would be written in the environment."""
    if value is None or value == "":
        return "(off)"
    return str(value).lower() if isinstance(value, bool) else one_line(str(value))
