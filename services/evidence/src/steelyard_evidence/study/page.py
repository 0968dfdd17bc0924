"""The study as a page: what was compared, the figures, and who wins where."""

from collections.abc import Iterable, Mapping, Sequence

from ..evaluation.titles import title_of
from ..measures.bootstrap import Interval, difference
from .comparison import ADAPTIVE, BASELINE, DEFAULT, Cell, Row, winners
from .conditions import NEAR_COPIES, NOISE
from .equal_recall import Crossing, crossing
from .scoring import CANDIDATES
from .study import HOME, ROBUST_SHARE, SHARES, Study


def page(study: Study, picture: str | None) -> str:
    """Markdown; `picture` is the file of the curves beside it, `curves` that of their numbers."""
    parts = [
        _opening(study),
        "" if picture is None else _picture(picture),
        _equal_recall(study),
        _shown_to_differ(study),
        _verdicts(study),
        _published(study),
        _tuned(study),
        _robust(study),
        _carried(study),
        _method(study),
    ]
    return "\n".join(part for part in parts if part)


def _opening(study: Study) -> str:
    counted = ", ".join(f"{title_of(name)} ({count})" for name, count in study.questions.items())
    return f"""# Selection: what each method costs

Written by `steelyard evidence study --write docs/tune/selection.md`. How many tokens of context does each method of
selection need for how much of the annotated evidence?

Questions: {counted}. Settings are chosen on even-numbered questions; every figure is of the odd-numbered ones, with a
95 % bootstrap interval over questions. Scores are those of the local reranker, tokens those of its tokenizer.
"""


def _picture(name: str) -> str:
    curves = name.replace(".svg", "-curves.csv")
    return f"""![Recall against context tokens for every method]({name})

The curves join the settings that were best on even questions, as they do on odd ones; [their numbers]({curves}) have
an interval for every point.
"""


def _equal_recall(study: Study) -> str:
    methods = [name for name in study.cells[0].odd if name != "knee"]
    lines = ["## Tokens at equal recall", "", _EQUAL_RECALL, ""]
    for share in SHARES:
        lines += [
            f"### {share:.0%} of what all candidates have",
            "",
            f"| data set | condition |{''.join(f' {name} |' for name in methods)}",
            f"|---|---|{'---|' * len(methods)}",
        ]
        for cell in study.cells:
            found = {name: crossing(cell, name, share) for name in methods}
            least = min((one.tokens for one in found.values() if one is not None), default=0.0)
            lines.append(
                f"| {_name(cell)} | {cell.condition} | {' | '.join(_crossing(one, least) for one in found.values())} |"
            )
        lines.append("")
    return "\n".join(lines)


def _crossing(one: Crossing | None, least: float) -> str:
    if one is None:
        return "–"
    tokens = f"**{one.tokens:.0f}**" if one.tokens <= least else f"{one.tokens:.0f}"
    if one.ratio == one.ratio_low == one.ratio_high:
        return tokens
    return f"{tokens} ({one.ratio_low:.2f}–{one.ratio_high:.2f})"


_EQUAL_RECALL = """Where the curves of odd questions cross the same recall: tokens, and in brackets the 95 % interval of
their ratio to those of `slice`. An interval below 1 shows that the method needs fewer tokens than `slice`, one above 1
that it needs more; the fewest are bold. A dash: the curve does not reach the recall, or not in enough resamples. `knee`
is one point and has no curve."""


def _shown_to_differ(study: Study) -> str:
    """In words, for the middle share: who is shown to need fewer tokens than `slice`, and who more."""
    lines = [f"In words, at {ROBUST_SHARE:.0%}:", ""]
    for cell in study.cells:
        found = {name: crossing(cell, name, ROBUST_SHARE) for name in cell.odd if name not in (BASELINE, "knee")}
        fewer = [name for name, one in found.items() if one is not None and one.ratio_high < 1.0]
        more = [name for name, one in found.items() if one is not None and one.ratio_low > 1.0]
        said = f"fewer tokens than `slice`: {', '.join(fewer) or 'none is shown'}"
        if more:
            said += f"; more: {', '.join(more)}"
        lines.append(f"* {_name(cell)}, {cell.condition}: {said}.")
    return "\n".join([*lines, ""])


def _verdicts(study: Study) -> str:
    lines = [
        "## With settings chosen beforehand",
        "",
        f"At {ROBUST_SHARE:.0%} of the recall that all candidates together have, with each method's setting chosen for"
        " the data set and condition. A method wins here when it needs the fewest tokens and its recall is not clearly"
        " below that of `slice`; *not shown* says that the interval of the paired difference in tokens includes zero.",
        "",
        "| data set | condition | fewest tokens | calibrated `adaptive` | its tokens less those of `slice` |"
        " less those of the best other |",
        "|---|---|---|---|---|---|",
    ]
    for cell in study.cells:
        rows = _at_share(study, cell, ROBUST_SHARE)
        lines.append(_verdict(cell, rows))
    return "\n".join([*lines, ""])


def _verdict(cell: Cell, rows: Sequence[Row]) -> str:
    best = winners(rows)
    adaptive = next((row for row in rows if row.method == ADAPTIVE), None)
    first = f"**{best[0].method}** {_plain(best[0].point.tokens)}" if best else "none"
    if adaptive is None:
        return f"| {_name(cell)} | {cell.condition} | {first} | does not reach it | | |"
    others = [row for row in best if row.method not in (ADAPTIVE, DEFAULT)]
    rival = ""
    if others:
        ours, theirs = cell.odd[ADAPTIVE], cell.odd[others[0].method]
        less = difference(
            ours.tokens[ours.names.index(adaptive.point.name)], theirs.tokens[theirs.names.index(others[0].point.name)]
        )
        rival = f"{others[0].method}: {_signed(less)}{_shown(less)}"
    beside = "" if adaptive.tokens_less is None else f"{_signed(adaptive.tokens_less)}{_shown(adaptive.tokens_less)}"
    said = f"{_plain(adaptive.point.tokens)} at recall {adaptive.point.recall.mean:.3f}"
    return f"| {_name(cell)} | {cell.condition} | {first} | {said} | {beside} | {rival} |"


def _published(study: Study) -> str:
    lines = [
        "## What the defaults do",
        "",
        "Recall @ tokens of each strategy with the settings that it comes with:",
        "",
        *_grid(study, study.defaults, None),
        "",
        "`adaptive` as it comes, beside methods at the setting that reaches its recall on even questions:",
        "",
        *_grid(study, study.published, (DEFAULT, ADAPTIVE, BASELINE, "threshold", "MMR", "DPP", "adaptive-k")),
        "",
    ]
    return "\n".join(lines)


def _tuned(study: Study) -> str:
    lines = ["## Every method at equal recall", ""]
    for cell in study.cells:
        lines += [
            f"### {_name(cell)}, {cell.condition}",
            "",
            f"All candidates together: recall {_interval(cell.ceiling)}.",
            "",
            "| method | wanted | setting | recall | tokens | tokens / slice | tokens less slice | recall less slice |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for share in SHARES:
            lines += [_row(share, row) for row in _at_share(study, cell, share)]
        lines.append("")
    return "\n".join(lines)


def _row(share: float, row: Row) -> str:
    ratio = "" if row.tokens_ratio is None else f"{row.tokens_ratio:.2f}"
    tokens = "" if row.tokens_less is None else _signed(row.tokens_less)
    recall = "" if row.recall_less is None else _fine(row.recall_less)
    point = row.point
    return (
        f"| {row.method} | {share:.0%} | {point.name} | {_interval(point.recall)} | {_plain(point.tokens)} | {ratio} |"
        f" {tokens} | {recall} |"
    )


def _robust(study: Study) -> str:
    lines = [
        "## One setting for all conditions",
        "",
        "Nobody knows beforehand how redundant or noisy a collection is. Here each method has one setting per data set,"
        f" chosen on even questions of all conditions together for {ROBUST_SHARE:.0%} of what all candidates have.",
        "",
        *_grid(study, study.robust, None),
        "",
        "The calibrated settings of `adaptive`:",
        "",
        "| data set | setting |",
        "|---|---|",
        *(f"| {title_of(name)} | {profile} |" for name, profile in study.profiles.items()),
        "",
    ]
    return "\n".join(lines)


def _carried(study: Study) -> str:
    if not study.carried:
        return ""
    lines = [
        f"## Settings of {HOME} on other data",
        "",
        "The same settings where they were not chosen: what a calibration is worth on a collection of another kind.",
        "",
        *_grid(study, study.carried, None),
        "",
    ]
    return "\n".join(lines)


def _grid(study: Study, rows: Mapping[tuple[str, str], Sequence[Row]], wanted: Sequence[str] | None) -> Iterable[str]:
    """One line per data set and method, one column of recall and tokens per condition."""
    conditions = list(dict.fromkeys(cell.condition for cell in study.cells))
    yield f"| data set | method |{''.join(f' {condition} |' for condition in conditions)}"
    yield f"|---|---|{'---|' * len(conditions)}"
    for name in study.questions:
        found = {condition: {row.method: row for row in rows.get((name, condition), [])} for condition in conditions}
        if not any(found.values()):
            continue
        methods = dict.fromkeys(method for cells in found.values() for method in cells)
        for method in methods if wanted is None else [one for one in wanted if one in methods]:
            cells = [
                f"{row.point.recall.mean:.3f} @ {row.point.tokens.mean:.0f}" if (row := found[one].get(method)) else "–"
                for one in conditions
            ]
            yield f"| {title_of(name)} | {method} | {' | '.join(cells)} |"


def _method(study: Study) -> str:
    del study
    return f"""## How it was measured

* **Candidates**: a question's {CANDIDATES} nearest passages by cosine over its whole data set. Texts are cut by the
  ingestion service's chunker at 200 tokens.
* **Evidence**: in chunking_eval gold character spans, and recall is the share of their characters; in HotpotQA
  supporting sentences and in MuSiQue supporting paragraphs, each with the same weight. Evidence that is kept twice
  counts once.
* **clean** is the collection as it is. **redundant** gives every passage {NEAR_COPIES} near-copies (a line above it;
  small words left out and a closing line), so that two of three candidates repeat another. **noisy** puts the {NOISE}
  nearest passages of the two other data sets among the candidates.
* **slice**, **threshold** and **knee** are Steelyard's strategies; **adaptive-k** cuts at the largest gap of the
  scores and keeps a few more; **MMR** and **DPP** are those of pyversity, with the diversity chosen as well.
  **{DEFAULT}** moves only the least value, with the published constants otherwise; **{ADAPTIVE}** chooses among a
  grid of all four settings.
* A method that is missing from a table does not reach that recall on even questions.
"""


def _at_share(study: Study, cell: Cell, share: float) -> list[Row]:
    wanted = share * cell.even_ceiling
    return [row for row in study.tuned[cell.collection, cell.condition] if abs(row.wanted - wanted) < 1e-9]


def _name(cell: Cell) -> str:
    return title_of(cell.collection)


def _interval(one: Interval) -> str:
    return f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]"


def _plain(one: Interval) -> str:
    return f"{one.mean:.0f} [{one.low:.0f}, {one.high:.0f}]"


def _signed(one: Interval) -> str:
    return f"{one.mean:+.0f} [{one.low:+.0f}, {one.high:+.0f}]"


def _fine(one: Interval) -> str:
    return f"{one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"


def _shown(one: Interval) -> str:
    return " (not shown)" if one.low <= 0.0 <= one.high else ""
