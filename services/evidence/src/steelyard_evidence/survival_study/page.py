"""The survival study as a page."""

from collections.abc import Sequence

from ..evaluation.titles import title_of
from ..measures.survival import Boundary
from ..run.result import POSITIONS, Count, Mean
from .boundaries import Losses
from .pairs import Cell
from .study import CANDIDATES, CONTEXT_BUDGET, LIMITS, Passages


def page(found: Sequence[Passages]) -> str:
    """Markdown."""
    return "\n".join(
        [
            _opening(max(one.run_questions for one in found)),
            _by_position(found),
            _at_boundaries(found),
            _in_words(found),
            _METHOD,
        ]
    )


def _by_position(found: Sequence[Passages]) -> str:
    lines = [
        "## Survival by position and pair limit",
        "",
        _BY_POSITION,
        "",
        f"| data set | passages (mean, longest) | pair limit |{''.join(f' {name} |' for name in POSITIONS)}",
        f"|---|---|---|{'---|' * len(POSITIONS)}",
    ]
    for one in found:
        for limit in LIMITS:
            cells = {cell.position: cell for cell in one.cells if cell.limit == limit}
            row = "".join(f" {_survived(cells[position])} |" for position in POSITIONS)
            lengths = f"{one.passages} ({one.mean_tokens:.0f}, {one.longest_tokens})"
            lines.append(f"| {title_of(one.collection)} | {lengths} | {limit} |{row}")
    return "\n".join([*lines, ""])


def _survived(cell: Cell) -> str:
    if cell.whole is None:
        return "none there"
    partly = f", {cell.partial} partly" if cell.partial else ""
    return f"{cell.whole.mean:.3f} [{cell.whole.low:.3f}, {cell.whole.high:.3f}], {cell.full} of {cell.units}{partly}"


def _at_boundaries(found: Sequence[Passages]) -> str:
    lines = [
        "## What each boundary cut",
        "",
        _AT_BOUNDARIES,
        "",
        f"| data set | passages | pair limit |{''.join(f' {name} |' for name in Boundary)} evidence sent | tokens |",
        f"|---|---|---|{'---|' * len(Boundary)}---|---|",
    ]
    for one in found:
        for row in one.losses:
            counts = "".join(f" {_fates(row.counts[boundary])} |" for boundary in Boundary)
            ends = f" {_mean(row.recall)} | {row.context_tokens.mean:.0f} |"
            lines.append(f"| {title_of(one.collection)} | {one.passages} | {row.limit} |{counts}{ends}")
    return "\n".join([*lines, ""])


def _fates(count: Count) -> str:
    return f"{count.full} / {count.partial} / {count.lost}"


def _mean(mean: Mean) -> str:
    return f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]"


def _in_words(found: Sequence[Passages]) -> str:
    lines = ["Where the pair took something, the pieces of evidence of which each boundary took some or all:", ""]
    for one in found:
        lines += [_sentence(one, row) for row in one.losses if row.cut]
    return "\n".join([*lines, "", "In every other row the pair took nothing.", ""])


def _sentence(one: Passages, row: Losses) -> str:
    units = row.counts[Boundary.CANDIDATE].units
    back = f", {row.came_back} of which are in the context all the same" if row.cut else ""
    return (
        f"* {title_of(one.collection)}, {one.passages}, pairs of {row.limit} (n = {units} pieces of {one.run_questions}"
        f" questions): retrieval {row.not_retrieved}, the pair {row.cut}{back}; selection {row.unselected}, the context"
        f" budget {row.over_budget}."
    )


def _opening(questions: int) -> str:
    return f"""# Survival: what a pair limit cuts out

Written by `steelyard evidence survival --questions {questions} --write docs/tune/survival.md`. A reranker reads a
question and a passage as one pair of bounded length. What does the bound cut out of evidence, by where it stands in
its passage?

The truncation fixture says what must happen to one fact among ninety sentences of filler
([evidence.md](evidence.md)); this page says what does happen on the evaluation data.
"""


_BY_POSITION = """Share of the evidence that is whole in the pair, with a 95 % bootstrap interval over questions,
then how many pieces that is of how many. Position is the third of the passage in which the evidence begins. Every
piece is looked at in the passage that holds most of it, whether or not it would be retrieved, on all questions.
Pairs are those of a cross-encoder with the embedded default's tokenizer, planned by the reranker's own code; the
question is never cut."""

_AT_BOUNDARIES = f"""A run with the embedded default's reranker and selection, {CANDIDATES} candidates,
{CONTEXT_BUDGET} tokens of context: pieces of evidence that are full / partly there / lost in the candidates, in
what the reranker read, in the passages that selection kept, and in the context; then the mean share of a
question's evidence that was sent, and its tokens. Passages are sent whole, so what was cut from a pair can be in
the context. Late interaction reads question and passage apart, at most 510 tokens of a passage: a limit of 1,024
gives it hardly more of one than 512 does, and what lies behind is cut all the same."""

_METHOD = """## How

* Chunks are those of the ingestion service (200 tokens). *Sections* are what its chunker makes of the same
  documents at that length; chunks are searched, and the sections around the nearest are the candidates, as in a
  store that expands its hits to their parents. HotpotQA and MuSiQue have paragraphs for documents, which are whole
  candidates. None of them is longer than the table says: limits above that cut nothing, and the rows show it.
* Evidence that a chunk boundary divides counts as the part that its passage holds; the other part is another
  passage's.
* A piece of evidence is a gold span (chunking_eval), a supporting sentence (HotpotQA) or a supporting paragraph
  (MuSiQue: it begins at the beginning of its passage wherever the passage is the whole paragraph).
* Scores are kept in the cache, so the study takes minutes the second time.
"""
