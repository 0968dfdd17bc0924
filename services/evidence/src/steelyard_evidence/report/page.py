"""The page: HTML without any outside resource, so that it can be mailed, archived and opened offline."""

from collections.abc import Callable, Sequence
from html import escape

from ..measures.survival import Boundary
from ..run.plan import Axis
from ..run.result import POSITIONS, Count, Mean, PartResult, Run, Summary
from .chart import Axes, Dot, Series, legend, line_chart
from .rows import row_chart
from .style import STYLE

_Measure = tuple[str, str, Callable[[Summary], Mean]]

_BOUNDARIES = (
    "<p>How much of the annotated evidence is left at each boundary: in the candidates, in what the reranker could"
    " read, in the passages that selection kept, and in the context. Evidence that was cut from a pair can come back"
    " when its passage is kept for another reason, because passages are sent whole. Counts are units of evidence:"
    " full / partial / lost.</p>"
)
_RECALL: _Measure = (
    "Share of the evidence that reached the context, against the tokens that it took",
    "evidence sent",
    lambda summary: summary.recall,
)
_NDCG: _Measure = (
    "How well the candidates were ranked, against the tokens of those that were sent",
    "nDCG@10",
    lambda summary: summary.ndcg,
)


def page(run: Run) -> str:
    """The report of a run as one HTML document."""
    title = f"Evidence report: {run.manifest}"
    body = [
        f"<h1>{escape(title)}</h1>",
        _facts(run),
        "<h2>Three routes at one budget</h2>",
        _BOUNDARIES,
        _table(_ROUTE_HEADINGS, [_route_row(part) for part in run.on(Axis.ROUTE)]),
        *_section("Survival by position and pair length", _survival(run)),
        *_section("Recall against context tokens", _against_tokens(run, *_RECALL)),
        *_section("nDCG against context tokens", _against_tokens(run, *_NDCG)),
        *_section("Latency", _latency(run)),
        *_section("Every part", _every(run)),
        *_section("Protected segments", _segments(run)),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title><style>{STYLE}</style></head>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _facts(run: Run) -> str:
    queries = run.parts[0].pooled.queries if run.parts else 0
    first = "not measured" if run.first_read_seconds is None else f"{run.first_read_seconds:.2f} s"
    facts = {
        "manifest": f"{run.manifest_sha256[:16]}, {queries} queries",
        "context budget": f"{run.context_budget} tokens",
        "hardware": "{processor}, {cores} cores, {system}".format_map(run.hardware),
        "cold": f"model loaded in {run.load_seconds:.2f} s, first query {first}",
        "intervals": "95 %, paired bootstrap over queries",
    }
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{escape(value)}</dd>' for name, value in facts.items())}</dl>"


def _section(title: str, content: str) -> tuple[str, ...]:
    return (f"<h2>{title}</h2>", content) if content else ()


def _survival(run: Run) -> str:
    parts = run.on(Axis.PAIR_LENGTH)
    if not parts:
        return ""
    names = [part.label for part in parts]
    series = []
    for colour, position in enumerate(POSITIONS):
        counts = [(place, part.pooled.positions[position][Boundary.PAIR]) for place, part in enumerate(parts)]
        dots = [
            Dot(place, _share(count), _share(count), _share(count), f"{position}, {names[place]}: {_said(count)}")
            for place, count in counts
            if count.units
        ]
        series.append(Series(f"evidence at the {position}", dots, colour))
    rows = [
        [part.label, *(_said(part.pooled.positions[position][Boundary.PAIR]) for position in POSITIONS)]
        for part in parts
    ]
    axes = Axes("tokens of the longest pair", "units whole in the pair", names, y_top=1.0)
    return _figure(
        "Share of evidence that the reranker could read whole, by where it begins in its passage",
        axes,
        series,
        _table(["pair length", *POSITIONS], rows),
    )


def _against_tokens(run: Run, caption: str, measure: str, value: Callable[[Summary], Mean]) -> str:
    """What the parts of every axis reach of a measure in [0, 1], by the context tokens that they send."""
    axes = (Axis.ROUTE, Axis.PAIR_LENGTH, Axis.CANDIDATES, Axis.GRID, Axis.WINDOWS, Axis.ORACLE)
    series, rows = [], []
    for colour, axis in enumerate(axes):
        parts = sorted(run.on(axis), key=lambda part: part.pooled.context_tokens.mean)
        dots = [_dot(part, value(part.pooled)) for part in parts]
        name = _AXIS_NAMES[axis]
        series.append(Series(name, dots, colour, joined=axis in (Axis.PAIR_LENGTH, Axis.CANDIDATES)))
        rows += [
            [_name(part), _interval(value(part.pooled)), f"{part.pooled.context_tokens.mean:.0f}"] for part in parts
        ]
    return _figure(
        caption, Axes("context tokens per query", measure, y_top=1.0), series, _table(["part", measure, "tokens"], rows)
    )


def _dot(part: PartResult, mean: Mean) -> Dot:
    tokens = part.pooled.context_tokens.mean
    return Dot(tokens, mean.mean, mean.low, mean.high, f"{part.key}: {_interval(mean)} at {tokens:.0f} tokens")


def _latency(run: Run) -> str:
    measured = [(part, part.pooled.latency) for part in run.parts if part.pooled.latency is not None]
    if not measured:
        return ""
    names = [part.key for part, _ in measured]
    figures = (
        ("median", 0, [one.p50 for _, one in measured]),
        ("95th percentile", 1, [one.p95 for _, one in measured]),
        ("longest", 3, [one.longest for _, one in measured]),
    )
    series = [
        Series(
            name, [Dot(v, i, v, v, f"{names[i]}: {name} {v:.3f} s") for i, v in enumerate(values)], colour, joined=False
        )
        for name, colour, values in figures
    ]
    rows = [
        [
            _name(part),
            *(f"{value:.3f}" for value in (one.p50, one.p95, one.longest)),
            f"{one.throughput:.1f}",
            "not told" if one.padding_waste is None else f"{one.padding_waste:.1%}",
        ]
        for part, one in measured
    ]
    note = (
        '<p class="dim lead">Reranking time per query of a warm model, one query at a time, so nothing queues. Padding'
        " waste is the share of the model's input positions that are padding, in the batches that were sent.</p>"
    )
    chart = row_chart("Seconds per query", "seconds", names, series)
    table = _table(["part", "median s", "p95 s", "longest s", "texts/s", "padding waste"], rows)
    caption = "<figcaption>Seconds per query</figcaption>"
    return f"{note}<figure>{caption}{chart}{legend(series)}{table}</figure>"


def _every(run: Run) -> str:
    return _table(_ROUTE_HEADINGS, [_route_row(part) for part in run.parts])


def _segments(run: Run) -> str:
    rows = [
        [
            f"{name}, {part.label}",
            str(one.queries),
            _interval(one.recall),
            _interval(one.ndcg),
            f"{one.context_tokens.mean:.0f}",
        ]
        for part in run.on(Axis.ROUTE)
        for name, one in part.segments.items()
    ]
    return _table(["segment, route", "queries", "evidence sent", "nDCG@10", "tokens"], rows)


_ROUTE_HEADINGS = ["part", "evidence sent", *Boundary, "tokens"]
_AXIS_NAMES = {
    Axis.ROUTE: "routes",
    Axis.PAIR_LENGTH: "pair length",
    Axis.CANDIDATES: "candidate count",
    Axis.GRID: "both",
    Axis.WINDOWS: "windows",
    Axis.ORACLE: "upper bound, not promotable",
}


def _route_row(part: PartResult) -> list[str]:
    counts = [part.pooled.boundaries[boundary] for boundary in Boundary]
    fates = [f"{count.full} / {count.partial} / {count.lost}" for count in counts]
    return [_name(part), _interval(part.pooled.recall), *fates, f"{part.pooled.context_tokens.mean:.0f}"]


def _name(part: PartResult) -> str:
    return part.key if part.promotable else f"{part.key}, not promotable"


def _figure(caption: str, axes: Axes, series: Sequence[Series], table: str) -> str:
    chart = line_chart(caption, axes, series)
    return f"<figure><figcaption>{escape(caption)}</figcaption>{chart}{legend(series)}{table}</figure>"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cells(row: Sequence[str]) -> str:
    """A part's name may be broken after its axis, so that a narrow screen has room for figures."""
    name, *figures = (escape(cell) for cell in row)
    return f"<td>{name.replace(':', ':<wbr>')}</td>{''.join(f'<td>{cell}</td>' for cell in figures)}"


def _interval(mean: Mean) -> str:
    return f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]"


def _share(count: Count) -> float:
    return count.full / count.units if count.units else 0.0


def _said(count: Count) -> str:
    if not count.units:
        return "none there"
    partly = f", {count.partial} partly" if count.partial else ""
    return f"{count.full} of {count.units}{partly}"
