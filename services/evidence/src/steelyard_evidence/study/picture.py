"""The study's curves as one standalone picture: data sets below each other, conditions side by side."""

from html import escape

from ..report.chart import HEIGHT, WIDTH, Axes, Dot, Series, line_chart
from ..report.style import STYLE
from .comparison import ADAPTIVE, BASELINE, DEFAULT, Cell
from .study import Study

_SHOWN = (ADAPTIVE, DEFAULT, BASELINE, "threshold", "MMR", "DPP", "adaptive-k", "knee")
_HEAD, _KEYS = 26, 40


def picture(study: Study) -> str:
    """An SVG document."""
    collections = list(study.questions)
    conditions = list(dict.fromkeys(cell.condition for cell in study.cells))
    width, height = WIDTH * len(conditions), (HEIGHT + _HEAD) * len(collections) + _KEYS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' font-family="system-ui, sans-serif"><style>{_style()}</style>'
        f'<rect width="{width}" height="{height}" fill="var(--bg)"/>'
    ]
    for cell in study.cells:
        x = conditions.index(cell.condition) * WIDTH
        y = collections.index(cell.collection) * (HEIGHT + _HEAD)
        title = f"{cell.collection}, {cell.condition}"
        parts.append(
            f'<text class="head" x="{x + WIDTH / 2:.0f}" y="{y + 19}" text-anchor="middle">{escape(title)}</text>'
        )
        chart = line_chart(title, Axes("context tokens per question", "recall", y_top=1.0), _series(cell))
        placed = f'<svg x="{x}" y="{y + _HEAD}" width="{WIDTH}" height="{HEIGHT}" '
        parts.append(placed + chart.removeprefix("<svg "))
    step = width / len(_SHOWN)
    for number, name in enumerate(_SHOWN):
        left, base = step * number + 24, height - _KEYS / 2
        parts.append(
            f'<g class="s{number}"><rect x="{left:.0f}" y="{base - 6:.0f}" width="22" height="6"/></g>'
            f'<text class="key" x="{left + 30:.0f}" y="{base + 2:.0f}">{escape(name)}</text>'
        )
    return "".join([*parts, "</svg>\n"])


def _series(cell: Cell) -> list[Series]:
    series = []
    for colour, method in enumerate(_SHOWN):
        points = cell.curve(method)
        dots = [Dot(p.tokens.mean, p.recall.mean, p.recall.low, p.recall.high, f"{method}, {p.name}") for p in points]
        series.append(Series(method, dots, colour))
    return series


def _style() -> str:
    start = STYLE.index("body{")
    rules = STYLE[:start] + "".join(
        line for line in STYLE[start:].splitlines() if line.startswith((".grid", ".line", ".s0"))
    )
    return (
        rules.strip().replace("\n", "")
        + ".head{fill:var(--fg);font-size:16px;font-weight:600}.key{fill:var(--fg);font-size:15px}"
    )
