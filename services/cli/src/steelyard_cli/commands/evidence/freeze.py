"""`steelyard evidence freeze`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from steelyard_contracts.enums import SearchType

from ... import connection, options
from ...errors import ConfigurationError
from ...settings import EvaluationSettings
from ...terminal import Terminal
from .laboratory import Bar, laboratory

if TYPE_CHECKING:
    from steelyard_evidence.freeze.dataset import AnnotatedQuery
    from steelyard_evidence.freeze.local_snapshot import Cut
    from steelyard_evidence.freeze.sizes import Sizes
    from steelyard_evidence.freeze.snapshot import Snapshot
    from steelyard_evidence.run.local_reader import LocalReader


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
        SearchType, typer.Option("--search-type", help="How the running stack searches.")
    ] = SearchType.SIMILARITY,
    pair_limit: Annotated[
        int | None, typer.Option(min=1, help="Tokens of the longest pair; without it, the reranker's own limit.")
    ] = None,
    context_budget: Annotated[int, typer.Option(min=1, help="Tokens of evidence that may reach the model.")] = 2000,
    cache: Annotated[
        Path | None, typer.Option("--cache", help="Folder of vectors; without it, the user's cache.", file_okay=False)
    ] = None,
    timeout: Annotated[float, typer.Option(min=1.0, help="Longest silence of a service in seconds.")] = 60.0,
    as_json: options.Json = False,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Freeze one retrieval of annotated queries into a manifest that nothing changes any more.

    Vectors of texts that are read here are kept, so that a call that was interrupted goes on where it stopped.
    """
    from steelyard_evidence.freeze import build
    from steelyard_evidence.freeze.sizes import Sizes
    from steelyard_evidence.manifest import ModelIdentity, write_manifest
    from steelyard_evidence.run.local_reader import LocalReader

    terminal = Terminal.open(as_json=as_json)
    if (dataset is None) == (evaluation is None):
        raise ConfigurationError("either --dataset or --evaluation should be given")
    if corpus is not None and dataset is None:
        raise ConfigurationError("--corpus belongs to --dataset")
    if parent_tokens is not None and dataset is not None and corpus is None:
        raise ConfigurationError("--parent-tokens needs --corpus or --evaluation: the running stack cuts by itself")
    with laboratory(), Bar(terminal.err, wanted=not as_json) as bar:
        reader = LocalReader()
        tokenizer, sizes = reader.encoder.tokenizer, Sizes(chunk_tokens, parent_tokens)
        if evaluation is not None:
            queries, snapshot = _evaluation(evaluation, questions, sizes, reader, cache, bar)
            name = evaluation
        elif dataset is not None:
            queries, snapshot = _annotated(dataset, corpus, sizes, search_type, reader, cache, bar, timeout, state_dir)
            name = dataset.stem
        manifest = build.freeze(
            name,
            queries,
            snapshot,
            reranker=reader.identity,
            tokenizer=ModelIdentity(name=tokenizer.path.parent.name, sha256=tokenizer.sha256),
            candidates=candidates,
            pair_limit=pair_limit or reader.longest_pair,
            context_budget=context_budget,
            on_queries=lambda done, of: bar.tell("retrieving", done, of),
        )
        written = write_manifest(manifest, out)
    units = [unit for query in written.queries for unit in query.units]
    found = sum(1 for unit in units if unit.places)
    said = {
        "manifest": str(out),
        "sha256": written.sha256,
        "queries": len(written.queries),
        "units": len(units),
        "found": found,
    }
    if as_json:
        terminal.result(said)
    else:
        terminal.show(
            Text(f"{len(written.queries)} queries; of {len(units)} pieces of evidence {found} are among the candidates")
        )
        terminal.show(Text(f"manifest: {out} ({written.sha256[:12]})"))


def _evaluation(
    name: str, questions: int, sizes: "Sizes", reader: "LocalReader", cache: Path | None, bar: Bar
) -> "tuple[list[AnnotatedQuery], Snapshot]":
    from steelyard_evidence.freeze import evaluation
    from steelyard_evidence.study.evaluation_data import NAMES, read_one

    if name not in NAMES:
        raise ConfigurationError(f"--evaluation {name!r} is none of {', '.join(NAMES)}")
    collection = read_one(name, EvaluationSettings.folder())
    count = reader.encoder.tokenizer.count
    snapshot = _local(
        lambda most: evaluation.texts_of(collection, count, most, partial(bar.tell, "cutting documents")),
        *(sizes, reader, cache, bar),
    )
    return evaluation.queries_of(collection, questions), snapshot


def _annotated(
    dataset: Path,
    corpus: Path | None,
    sizes: "Sizes",
    search_type: SearchType,
    reader: "LocalReader",
    cache: Path | None,
    bar: Bar,
    timeout: float,
    state_dir: Path,
) -> "tuple[list[AnnotatedQuery], Snapshot]":
    from steelyard_evidence.freeze.dataset import read_dataset
    from steelyard_evidence.freeze.folder import texts_of

    from ...stack_snapshot import StackSnapshot

    queries = read_dataset(dataset)
    tokenizer = reader.encoder.tokenizer
    if corpus is None:
        embedding, retriever = connection.embedding(timeout, state_dir), connection.retriever(timeout, state_dir)
        return queries, StackSnapshot(embedding, retriever, tokenizer, search_type)
    snapshot = _local(
        lambda most: texts_of(corpus, tokenizer, most, partial(bar.tell, "cutting documents")),
        *(sizes, reader, cache, bar),
    )
    return queries, snapshot


def _local(cut: "Cut", sizes: "Sizes", reader: "LocalReader", cache: Path | None, bar: Bar) -> "Snapshot":
    from steelyard_evidence.cache_folder import default_cache
    from steelyard_evidence.freeze.local_snapshot import local_snapshot
    from steelyard_evidence.run.local_reader import DEFAULT_MODEL
    from steelyard_models.catalogue import load_catalogue

    model, folder = load_catalogue().model(DEFAULT_MODEL), default_cache() if cache is None else cache
    return local_snapshot(cut, sizes, model, reader.encoder, folder, partial(bar.tell, "reading texts"))
