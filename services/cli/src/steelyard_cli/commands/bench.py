"""`steelyard bench`."""

import itertools
from typing import Annotated

import typer

from .. import options
from ..exits import ExitCode
from ..gateway import bench as measuring
from ..gateway import evidence_options as evidence
from ..render.bench import summary, times_table
from ..render.waiting import Waiting
from ..stack import connection
from ..terminal import Terminal


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(bench)


def bench(
    questions: Annotated[
        list[str], typer.Argument(metavar="QUESTION...", help="Questions, asked in turn.", show_default=False)
    ],
    requests: Annotated[int, typer.Option("--requests", "-n", min=1, max=100_000, help="Requests to send.")] = 20,
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-c", min=1, max=256, help="Requests under way at once.")
    ] = 1,
    no_model: Annotated[bool, typer.Option("--no-model", help="Only find and select evidence.")] = False,
    scope: evidence.Scopes = None,
    search_type: evidence.SearchTypeOption = None,
    strategy: evidence.StrategyOption = None,
    top_n: evidence.TopN = None,
    k: evidence.K = None,
    threshold: evidence.Threshold = None,
    as_json: options.Json = False,
    url: evidence.GatewayUrl = None,
    timeout: evidence.Timeout = 300.0,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Ask a running gateway many times and show how long each part took; exits 1 when a request was refused.

    A model server answers a question that it has just had faster than a new one: give as many as there are requests
    where that matters. Every request leaves a ledger, as all do.
    """
    terminal = Terminal.open(as_json=as_json)
    overrides = evidence.overrides(scope, search_type, strategy, top_n, k, threshold)
    make = evidence.inspect_request if no_model else evidence.chat_request
    each = [make(question, overrides) for question in questions]
    waiting = Waiting(terminal.err, f"asking {requests} times…", wanted=not as_json)
    with waiting:
        found = measuring.measure(
            lambda: connection.gateway(url, timeout, state_dir),
            list(itertools.islice(itertools.cycle(each), requests)),
            min(concurrency, requests),
        )
    if as_json:
        terminal.result(found)
    else:
        terminal.show(summary(found))
        if found.times:
            terminal.show(times_table(found, terminal.out))
    if found.errors:
        raise typer.Exit(int(ExitCode.FAILED))
