"""A picture of terminal output that needs nothing from elsewhere: no web font, no script."""

import io
from html import escape
from pathlib import Path

from rich.console import Console, RenderableType
from rich.terminal_theme import TerminalTheme

from ..errors import ConfigurationError

WIDTH = 148
"""Columns of the picture: enough for every term of the ledger."""

_THEME = TerminalTheme(
    (24, 27, 33),
    (216, 220, 226),
    [
        (24, 27, 33), (240, 113, 107), (126, 201, 132), (232, 190, 106),
        (122, 168, 240), (200, 150, 230), (104, 204, 212), (216, 220, 226),
    ],
    [
        (110, 118, 129), (250, 140, 134), (150, 220, 156), (245, 208, 130),
        (150, 190, 250), (216, 170, 240), (130, 222, 230), (245, 247, 250),
    ],
)  # fmt: skip

_ASPECT = 0.6
"""Width of a character over its height in the usual monospaced fonts."""

_FORMAT = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{unique_id}-name">
<title id="{unique_id}-name">%TITLE%</title>
<style>
.{unique_id}-matrix, .{unique_id}-title {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
  font-variant-east-asian: full-width;
}}
.{unique_id}-title {{ font-size: 17px; opacity: 0.7; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix" xml:space="preserve">
{matrix}
</g>
</g>
</svg>
"""


def recorder() -> Console:
    """A console that behaves like a wide colour terminal and shows nothing."""
    return Console(
        file=io.StringIO(),
        record=True,
        width=WIDTH,
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def save(path: Path, title: str, parts: list[RenderableType], console: Console) -> None:
    """Write `parts`, one below the other, as a picture; raises ConfigurationError when the file can not be written.

    `console` is the `recorder` that the parts were laid out for.
    """
    for part in parts:
        console.print(part)
    name = escape(title).replace("{", "{{").replace("}", "}}")
    picture = console.export_svg(
        title=title, theme=_THEME, code_format=_FORMAT.replace("%TITLE%", name), font_aspect_ratio=_ASPECT
    )
    try:
        path.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"--save-svg {path}: {error.strerror}") from None
