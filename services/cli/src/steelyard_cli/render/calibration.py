"""The proposal of a calibration."""

from rich.console import Console, Group, RenderableType
from rich.text import Text

from steelyard_evidence.calibrating import Proposal

from .tables import table


def calibration_view(found: Proposal, console: Console) -> RenderableType:
    """The settings as lines of an env file, what they do beside the alternatives, and what the data can not support."""
    made = table(console)
    made.add_column("on the other queries", no_wrap=True)
    for heading in ("recall", "95 %", "tokens", "95 % "):
        made.add_column(heading, justify="right")
    rows = {"proposed": found.proposed, "as it is": found.current, "shortest slice": found.slice}
    for name, point in rows.items():
        if point is not None:
            made.add_row(
                name,
                f"{point.recall.mean:.3f}",
                f"{point.recall.low:.3f} to {point.recall.high:.3f}",
                f"{point.tokens.mean:.0f}",
                f"{point.tokens.low:.0f} to {point.tokens.high:.0f}",
            )
    lines = [Text(f"{name}={value:g}") for name, value in found.environment().items()]
    nothing = [Text("no proposal")] if not lines else []
    head = Text(
        f"wanted recall {found.wanted:g}; chosen on {found.chosen_on} queries, told on {found.tested_on} others;"
        f" all candidates together hold {found.ceiling:.3f}",
        style="dim",
    )
    warnings = [Text(f"warning: {one}", style="yellow") for one in found.warnings]
    return Group(*lines, *nothing, head, made, *warnings)
