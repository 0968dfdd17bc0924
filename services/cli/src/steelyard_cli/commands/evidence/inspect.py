"""`steelyard evidence inspect`."""

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ... import options
from ...errors import ConfigurationError
from ...render.tables import table
from ...terminal import Terminal
from .laboratory import laboratory

_SPAN = re.compile(r"(\d+):(\d+)")
_STRATEGIES = ("only_second", "longest_first", "only_first")


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(inspect)


def inspect(
    tokenizer: Annotated[Path, typer.Option("--tokenizer", help="The reranker's tokenizer.json.", dir_okay=False)],
    query: Annotated[str, typer.Option("--query", help="The query.")],
    document: Annotated[Path, typer.Option("--document", help="The text as the reranker gets it.", dir_okay=False)],
    evidence: Annotated[
        str, typer.Option("--evidence", metavar="START:END", help="Half-open span of the document in characters.")
    ],
    limit: Annotated[int, typer.Option("--limit", min=1, help="Tokens of the pair, special tokens included.")] = 512,
    strategy: Annotated[
        str, typer.Option("--strategy", help=f"Who gives way: {', '.join(_STRATEGIES)}.")
    ] = _STRATEGIES[0],
    encoding: Annotated[
        str | None,
        typer.Option("--encoding", help="The document's encoding; without it, its mark decides, else UTF-8."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Count how many of the evidence's tokens are left in a pair under a limit."""
    from steelyard_evidence.survival import PairEncoder, TruncationStrategy
    from steelyard_evidence.survival import inspect as measure
    from steelyard_evidence.textfile import read_text

    terminal = Terminal.open(as_json=as_json)
    span = _SPAN.fullmatch(evidence)
    if span is None:
        raise ConfigurationError(f"--evidence {evidence!r} should be START:END")
    if strategy not in _STRATEGIES:
        raise ConfigurationError(f"--strategy {strategy!r} is none of {', '.join(_STRATEGIES)}")
    if not query.strip():
        raise ConfigurationError("--query is blank")
    with laboratory():
        text = read_text(document, encoding)
        found = measure(
            PairEncoder(tokenizer), query, text, (int(span[1]), int(span[2])), limit, TruncationStrategy(strategy)
        )
    if as_json:
        terminal.result(found.as_json())
        return
    fate = "survives" if found.full else "is cut" if found.partial else "is lost"
    terminal.show(Text(f"the evidence {fate}: {found.kept} of {found.target} tokens are in a pair of {limit}"))
    made = table(terminal.out)
    for heading in ("pair tokens", "query tokens", "kept spans of the document"):
        made.add_column(heading)
    spans = ", ".join(f"{start}:{end}" for start, end in found.kept_spans) or "none"
    made.add_row(str(found.pair_tokens), str(found.query_tokens), spans)
    terminal.show(made)
