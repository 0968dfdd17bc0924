"""`steelyard evidence freeze`."""

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
    search_type: Annotated[
        SearchType, typer.Option("--search-type", help="How the running stack searches.")
    ] = SearchType.SIMILARITY,
    pair_limit: Annotated[
        int | None, typer.Option(min=1, help="Tokens of the longest pair; without it, the reranker's own limit.")
    ] = None,
    context_budget: Annotated[int, typer.Option(min=1, help="Tokens of evidence that may reach the model.")] = 2000,
    timeout: Annotated[float, typer.Option(min=1.0, help="Longest silence of a service in seconds.")] = 60.0,
    as_json: options.Json = False,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Freeze one retrieval of annotated queries into a manifest that nothing changes any more."""
    from steelyard_evidence.freeze import build
    from steelyard_evidence.manifest import ModelIdentity, write_manifest
    from steelyard_evidence.run.local_reader import LocalReader

    terminal = Terminal.open(as_json=as_json)
    if (dataset is None) == (evaluation is None):
        raise ConfigurationError("either --dataset or --evaluation should be given")
    if corpus is not None and dataset is None:
        raise ConfigurationError("--corpus belongs to --dataset")
    with laboratory(), Bar(terminal.err, wanted=not as_json) as bar:
        reader = LocalReader()
        tokenizer = reader.encoder.tokenizer
        if evaluation is not None:
            queries, snapshot = _evaluation(evaluation, questions, chunk_tokens, reader, bar)
            name = evaluation
        elif dataset is not None:
            queries, snapshot = _annotated(dataset, corpus, chunk_tokens, search_type, reader, bar, timeout, state_dir)
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
    name: str, questions: int, chunk_tokens: int, reader: "LocalReader", bar: Bar
) -> "tuple[list[AnnotatedQuery], Snapshot]":
    from steelyard_evidence.freeze import evaluation
    from steelyard_evidence.freeze.folder import preprocessing_of
    from steelyard_evidence.freeze.local_index import LocalIndex
    from steelyard_evidence.run.local_reader import DEFAULT_MODEL
    from steelyard_evidence.study.evaluation_data import NAMES, load_one
    from steelyard_models.catalogue import load_catalogue

    if name not in NAMES:
        raise ConfigurationError(f"--evaluation {name!r} is none of {', '.join(NAMES)}")
    collection = load_one(name, EvaluationSettings.folder(), reader.encoder.tokenizer.count, chunk_tokens)
    index = LocalIndex(
        evaluation.texts_of(collection),
        reader.encoder,
        load_catalogue().model(DEFAULT_MODEL),
        preprocessing_of(chunk_tokens),
        lambda done, of: bar.tell("reading texts", done, of),
    )
    return evaluation.queries_of(collection, questions), index


def _annotated(
    dataset: Path,
    corpus: Path | None,
    chunk_tokens: int,
    search_type: SearchType,
    reader: "LocalReader",
    bar: Bar,
    timeout: float,
    state_dir: Path,
) -> "tuple[list[AnnotatedQuery], Snapshot]":
    from steelyard_evidence.freeze.dataset import read_dataset
    from steelyard_evidence.freeze.folder import preprocessing_of, texts_of
    from steelyard_evidence.freeze.local_index import LocalIndex
    from steelyard_evidence.run.local_reader import DEFAULT_MODEL
    from steelyard_models.catalogue import load_catalogue

    from ...stack_snapshot import StackSnapshot

    queries = read_dataset(dataset)
    if corpus is None:
        embedding, retriever = connection.embedding(timeout, state_dir), connection.retriever(timeout, state_dir)
        return queries, StackSnapshot(embedding, retriever, reader.encoder.tokenizer, search_type)
    texts = list(texts_of(corpus, reader.encoder.tokenizer, chunk_tokens))
    model = load_catalogue().model(DEFAULT_MODEL)
    index = LocalIndex(
        texts,
        reader.encoder,
        model,
        preprocessing_of(chunk_tokens),
        lambda done, of: bar.tell("reading texts", done, of),
    )
    return queries, index
