"""`steelyard evidence freeze`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from steelyard_contracts.enums import SearchType

from ... import options
from ...errors import ConfigurationError
from ...terminal import Terminal
from .laboratory import Bar, laboratory
from .reader import Reranker, TokenizerFolder, open_reader

if TYPE_CHECKING:
    from steelyard_evidence.readers import BackendReader


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(freeze)


def freeze(
    out: Annotated[Path, typer.Option("--out", help="Where the manifest is written.", dir_okay=False)],
    dataset: Annotated[
        Path | None, typer.Option("--dataset", help="Annotated queries, one JSON object a line.", dir_okay=False)
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", help="Folder of documents, instead of the running stack.", file_okay=False),
    ] = None,
    evaluation: Annotated[
        str | None, typer.Option("--evaluation", help="An evaluation data set, instead of --dataset.")
    ] = None,
    questions: Annotated[int, typer.Option(min=1, help="Questions of the evaluation data set.")] = 40,
    candidates: Annotated[int, typer.Option(min=1, max=1000, help="Candidates to retrieve per query.")] = 30,
    chunk_tokens: Annotated[
        int, typer.Option(min=32, max=500, help="Largest chunk, where chunks are made here.")
    ] = 200,
    parent_tokens: Annotated[
        int | None,
        typer.Option(min=64, max=1_000_000, help="Read the larger texts around the chunks that are found, this long."),
    ] = None,
    search_type: Annotated[
        SearchType,
        typer.Option("--search-type", envvar="SEARCH_TYPE", help="How the running stack is searched."),
    ] = SearchType.HYBRID,
    pair_limit: Annotated[
        int | None, typer.Option(min=1, help="Tokens of the longest pair; without it, the reranker's own limit.")
    ] = None,
    context_budget: Annotated[int, typer.Option(min=1, help="Tokens of evidence that may reach the model.")] = 2000,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            parser=options.folder,
            help="Folder of vectors; without it, the user's cache.",
        ),
    ] = None,
    reranker: Reranker = None,
    tokenizer: TokenizerFolder = None,
    timeout: Annotated[
        float, typer.Option(min=1.0, max=options.LONGEST_TIMEOUT_S, help="Longest silence of a service in seconds.")
    ] = 60.0,
    as_json: options.Json = False,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Freeze one retrieval of annotated queries into a manifest that nothing changes any more.

    Vectors of texts that are read here are kept, so that a call that was interrupted goes on where it stopped.
    """
    from steelyard_evidence.embedded_default import embedded_encoder
    from steelyard_evidence.freeze import build
    from steelyard_evidence.freeze.dataset import read_dataset
    from steelyard_evidence.freeze.sizes import Sizes
    from steelyard_evidence.manifest import write_manifest
    from steelyard_models.encoder import OnnxTextEncoder
    from steelyard_models.tokenizer import TextTokenizer

    from .sources import Source, running_stack

    terminal = Terminal.open(as_json=as_json)
    if (dataset is None) == (evaluation is None):
        raise ConfigurationError("either --dataset or --evaluation should be given")
    if corpus is not None and dataset is None:
        raise ConfigurationError("--corpus belongs to --dataset")
    if parent_tokens is not None and dataset is not None and corpus is None:
        raise ConfigurationError("--parent-tokens needs --corpus or --evaluation: the running stack cuts by itself")
    with laboratory(), Bar(terminal.err, wanted=not as_json) as bar:
        model, encoder = embedded_encoder(OnnxTextEncoder)
        source = Source(model, encoder, Sizes(chunk_tokens, parent_tokens), cache, bar)
        if evaluation is not None:
            queries, snapshot = source.evaluation(evaluation, questions)
            name = evaluation
        elif dataset is not None:
            queries, name = read_dataset(dataset), dataset.stem
            snapshot = (
                running_stack(encoder.tokenizer, search_type, timeout, state_dir)
                if corpus is None
                else source.folder(corpus)
            )
        with open_reader(reranker, tokenizer) as reader:
            manifest = build.freeze(
                name,
                queries,
                snapshot,
                reranker=reader.identity,
                tokenizer=build.tokenizer_identity(TextTokenizer(reader.tokenizer)),
                context_tokenizer=build.tokenizer_identity(encoder.tokenizer),
                candidates=candidates,
                pair_limit=_pair_limit(pair_limit, reader),
                context_budget=context_budget,
                on_queries=partial(bar.tell, "retrieving"),
            )
        written = write_manifest(manifest, out)
    units = [(query.query_id, unit) for query in written.queries for unit in query.units]
    lost = [(query_id, unit.unit_id) for query_id, unit in units if not unit.places]
    found = len(units) - len(lost)
    said = {
        "manifest": str(out),
        "sha256": written.sha256,
        "queries": len(written.queries),
        "units": len(units),
        "found": found,
        "lost": [{"query": query_id, "unit": unit_id} for query_id, unit_id in lost],
    }
    if as_json:
        terminal.result(said)
    else:
        for query_id, unit_id in lost:
            terminal.note(f"not among the candidates: {unit_id} of {query_id}", style="yellow")
        if lost:
            terminal.note("Retrieval misses them, or the annotation names another document or quote than there is.")
        terminal.show(
            Text(f"{len(written.queries)} queries; of {len(units)} pieces of evidence {found} are among the candidates")
        )
        terminal.show(Text(f"manifest: {out} ({written.sha256[:12]})"))


def _pair_limit(wanted: int | None, reader: "BackendReader") -> int:
    """The pair limit of the manifest; raises ConfigurationError for one that the reranker does not have."""
    from steelyard_reranker.backends.open import UNKNOWN_LIMIT

    if wanted is None and reader.longest_pair >= UNKNOWN_LIMIT:
        raise ConfigurationError(
            f"--pair-limit should be given: nothing says how long a pair {reader.identity.name} reads"
        )
    if wanted is not None and wanted > reader.longest_pair:
        raise ConfigurationError(
            f"--pair-limit {wanted} is more than the {reader.longest_pair} tokens that {reader.identity.name} reads"
        )
    return reader.longest_pair if wanted is None else wanted
