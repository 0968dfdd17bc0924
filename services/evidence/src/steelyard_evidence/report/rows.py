"""A chart with one row for each name, for as many names as there are."""

from collections.abc import Sequence
from html import escape

from .chart import WIDTH, Series, mark, short
from .scale import Scale, extent, ticks

_LEFT, _RIGHT, _TOP, _BOTTOM, _ROW = 205, 30, 8, 44, 26


def row_chart(title: str, x_title: str, names: Sequence[str], series: Sequence[Series]) -> str:
    """An SVG element: a dot's `y` is its row, from 0 at the top; its value is `x`, on an axis from zero."""
    height = _TOP + _ROW * len(names) + _BOTTOM
    _, high = extent([dot.x for one in series for dot in one.dots])
    marks = ticks(0.0, high)
    x = Scale(marks[0], marks[-1], _LEFT, WIDTH - _RIGHT)
    bottom = height - _BOTTOM
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" class="chart">']
    parts += [
        f'<path class="grid" d="M{x(value):.1f} {_TOP}V{bottom}"/>'
        f'<text class="tick" x="{x(value):.1f}" y="{bottom + 18}" text-anchor="middle">{escape(short(value))}</text>'
        for value in marks
    ]
    for row, name in enumerate(names):
        y = _middle(row)
        parts.append(
            f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>'
            f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>'
        )
    for one in series:
        for dot in one.dots:
            drawn = mark(one, x(dot.x), _middle(int(dot.y)))
            parts.append(f'<g class="s{one.colour}">{drawn}<title>{escape(dot.said)}</title></g>')
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(
        f'<text class="axis" x="{middle:.0f}" y="{height - 6}" text-anchor="middle">{escape(x_title)}</text></svg>'
    )
    return "".join(parts)


def _middle(row: int) -> float:
    return _TOP + _ROW * (row + 0.5)
