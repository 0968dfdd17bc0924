"""Charts as inline SVG that take their colours from the page, so that dark mode and print need no second picture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from .scale import Scale, extent, ticks

WIDTH, HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 34, 14, 52
_MARKS = ("circle", "square", "diamond", "triangle", "cross", "ring")
_COLOURS = 8
_KEY_LINE = '<path d="M1 6H27"/>'

Label = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Dot:
    """A point with its interval on the y axis; no interval where both ends are the value."""

    x: float
    y: float
    low: float
    high: float
    said: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Dots in the order in which a line joins them; `colour` counts from 0."""

    name: str
    dots: Sequence[Dot]
    colour: int
    joined: bool = True


@dataclass(frozen=True, slots=True)
class Axes:
    """Titles of the axes; `x_names` makes x a row of names at 0, 1, 2, ... `y_from_zero` starts y there."""

    x: str
    y: str
    x_names: Sequence[str] = ()
    y_from_zero: bool = True
    y_top: float | None = None


def line_chart(title: str, axes: Axes, series: Sequence[Series]) -> str:
    """An SVG element with the series; the legend belongs under it (`legend`)."""
    shown = [one for one in series if one.dots]
    x, x_marks = _x_scale(axes, shown)
    y, y_marks = _y_scale(axes, shown)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}" class="chart">',
        *(_grid_line(y(mark), short(mark)) for mark in y_marks),
        *(_x_mark(x(place), name) for place, name in x_marks),
        f'<text class="axis" x="{(_LEFT + WIDTH - _RIGHT) / 2:.0f}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{escape(axes.x)}</text>",
        f'<text class="axis" transform="translate(13 {(_TOP + HEIGHT - _BOTTOM) / 2:.0f}) rotate(-90)"'
        f' text-anchor="middle">{escape(axes.y)}</text>',
        *(_drawn(one, x, y) for one in shown),
        "</svg>",
    ]
    return "".join(parts)


def legend(series: Sequence[Series]) -> str:
    """The names of the series beside their marks, as a list that wraps on a narrow screen."""
    items = [
        f'<li><svg viewBox="0 0 28 12" class="key" aria-hidden="true"><g class="s{_colour(one)}">'
        f"{_KEY_LINE if one.joined else ''}{mark(one, 14, 6)}</g></svg>{escape(one.name)}</li>"
        for one in series
        if one.dots
    ]
    return f'<ul class="legend">{"".join(items)}</ul>'


def _x_scale(axes: Axes, series: Sequence[Series]) -> tuple[Scale, list[tuple[float, str]]]:
    start, end = _LEFT, WIDTH - _RIGHT
    if axes.x_names:
        scale = Scale(-0.5, len(axes.x_names) - 0.5, start, end)
        return scale, [(place, name) for place, name in enumerate(axes.x_names)]
    _, high = extent([dot.x for one in series for dot in one.dots])
    marks = ticks(0.0, high, 6)
    return Scale(marks[0], marks[-1], start, end), [(mark, short(mark)) for mark in marks]


def _y_scale(axes: Axes, series: Sequence[Series]) -> tuple[Scale, list[float]]:
    low, high = extent([value for one in series for dot in one.dots for value in (dot.low, dot.high)])
    marks = ticks(0.0 if axes.y_from_zero else low, high if axes.y_top is None else axes.y_top)
    if axes.y_top is not None:
        marks = [mark for mark in marks if mark <= axes.y_top + 1e-9]
    return Scale(marks[0], marks[-1], HEIGHT - _BOTTOM, _TOP), marks


def _grid_line(y: float, name: str) -> str:
    return (
        f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>'
        f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>'
    )


def _x_mark(x: float, name: str) -> str:
    return f'<text class="tick" x="{x:.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{escape(name)}</text>'


def _drawn(one: Series, x: Scale, y: Scale) -> str:
    parts = [f'<g class="s{_colour(one)}">']
    if one.joined and len(one.dots) > 1:
        path = "L".join(f"{x(dot.x):.1f} {y(dot.y):.1f}" for dot in one.dots)
        parts.append(f'<path class="line" d="M{path}"/>')
    for dot in one.dots:
        if dot.low < dot.high:
            parts.append(f'<path class="error" d="M{x(dot.x):.1f} {y(dot.low):.1f}V{y(dot.high):.1f}"/>')
        parts.append(f"<g>{mark(one, x(dot.x), y(dot.y))}<title>{escape(dot.said or one.name)}</title></g>")
    return "".join([*parts, "</g>"])


def mark(one: Series, x: float, y: float) -> str:
    """The mark of a series at a place of the picture."""
    match _MARKS[one.colour % len(_MARKS)]:
        case "circle":
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6"/>'
        case "square":
            return f'<rect x="{x - 3.4:.1f}" y="{y - 3.4:.1f}" width="6.8" height="6.8"/>'
        case "diamond":
            return f'<path class="mark" d="M{x:.1f} {y - 4.6:.1f}l4.6 4.6l-4.6 4.6l-4.6 -4.6z"/>'
        case "triangle":
            return f'<path class="mark" d="M{x:.1f} {y - 4.4:.1f}l4.4 8h-8.8z"/>'
        case "ring":
            return f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="3.6"/>'
        case _:
            return f'<path class="cross" d="M{x - 3.6:.1f} {y - 3.6:.1f}l7.2 7.2m0 -7.2l-7.2 7.2"/>'


def _colour(one: Series) -> int:
    return one.colour % _COLOURS


def short(value: float) -> str:
    """A number on an axis."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:g}"
