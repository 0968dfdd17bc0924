"""The table of services that `up` and `status` show."""

from rich.console import Console, RenderableType
from rich.text import Text

from ..stack.report import ServiceReport, StackReport
from .tables import table
from .text import one_line

_CAUSE_CHARACTERS = 160


def stack_table(report: StackReport, console: Console) -> RenderableType:
    """One row per service; a service that is not ready has its first cause beside it."""
    made = table(console)
    for name in ("service", "state", "process", "pid", "restarts", "address", "cause"):
        made.add_column(name, no_wrap=name != "cause", overflow="fold")
    for service in report.services:
        made.add_row(
            service.name,
            Text("ready", style="green") if service.ready else Text("not ready", style="red"),
            service.process or "not started here",
            "-" if service.pid is None else str(service.pid),
            str(service.restarts),
            service.url,
            one_line(brief(service), _CAUSE_CHARACTERS),
        )
    return made


def brief(service: ServiceReport) -> str:
    """The first cause, and the last, which of a process's last lines is the one that says most."""
    return ": ".join(service.causes if len(service.causes) < 2 else (service.causes[0], service.causes[-1]))


def causes(services: list[ServiceReport]) -> str:
    """Every cause of every service that is not ready, a line each."""
    lines = []
    for service in services:
        lines.append(f"{service.name} ({service.url}) is not ready: {service.causes[0] if service.causes else ''}")
        lines.extend(f"    {cause}" for cause in service.causes[1:])
        if service.log is not None:
            lines.append(f"    log: {service.log}")
    return "\n".join(lines)
