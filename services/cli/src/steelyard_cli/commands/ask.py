"""`steelyard ask` and `steelyard inspect`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from steelyard_contracts.answers import Ledger
from steelyard_contracts.chat import ChatCompletionRequest
from steelyard_contracts.enums import Outcome
from steelyard_contracts.errors import ErrorCode

from .. import options
from ..errors import RequestRefusedError
from ..exits import ExitCode
from ..gateway import evidence_options as evidence
from ..gateway.chat import Answer
from ..gateway.chat import ask as ask_gateway
from ..gateway.client import Service
from ..render import svg
from ..render.answer import citations, verdict
from ..render.ledger import funnel, ledger_view
from ..render.text import printable
from ..render.waiting import Waiting
from ..stack import connection
from ..terminal import Terminal


def _in_a_folder(picture: Path | None) -> Path | None:
    """Refuse a picture for which there is no folder before the model is asked, not after."""
    if picture is not None and not picture.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {str(picture.parent)!r}")
    return picture


_SaveSvg = Annotated[
    Path | None,
    typer.Option("--save-svg", help="Also write what is shown as a picture.", dir_okay=False, callback=_in_a_folder),
]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command()(ask)
    app.command()(inspect)


def ask(
    question: evidence.Question,
    scope: evidence.Scopes = None,
    search_type: evidence.SearchTypeOption = None,
    strategy: evidence.StrategyOption = None,
    top_n: evidence.TopN = None,
    k: evidence.K = None,
    threshold: evidence.Threshold = None,
    after: evidence.After = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Only the answer and its citations.")] = False,
    as_json: options.Json = False,
    save_svg: _SaveSvg = None,
    url: evidence.GatewayUrl = None,
    timeout: evidence.Timeout = 300.0,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Ask a question: streams the answer, then shows its citations and its evidence ledger.

    A question that follows another names that one's ledger with `--after`.

    Exits 1 when there was no evidence to answer from.
    """
    terminal = Terminal.open(as_json=as_json)
    overrides = evidence.overrides(scope, search_type, strategy, top_n, k, threshold)
    request = evidence.chat_request(question, overrides)
    with connection.gateway(url, timeout, state_dir) as gateway:
        turns = [*evidence.earlier_turns(gateway, after or []), *request.messages]
        request = request.model_copy(update={"messages": turns})
        answer = _stream(gateway, request, terminal)
        ledger = None if no_ledger else _ledger(gateway, answer, terminal)
    if as_json:
        terminal.result(
            {
                "question": question,
                "answer": answer.text,
                "finish_reason": answer.finish_reason,
                "steelyard": answer.answered.model_dump(mode="json"),
                "ledger": None if ledger is None else ledger.model_dump(mode="json"),
            }
        )
    else:
        for part in _evidence_parts(answer, ledger, terminal):
            terminal.show(part)
    if save_svg is not None:
        _save(save_svg, question, answer, ledger)
        terminal.note(f"picture: {save_svg}")
    if answer.answered.abstained is not None or answer.answered.outcome is Outcome.EMPTY:
        raise typer.Exit(int(ExitCode.FAILED))


def inspect(
    question: evidence.Question,
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
    """Find and select evidence without asking the model, and show the ledger; exits 1 when none was selected."""
    terminal = Terminal.open(as_json=as_json)
    request = evidence.inspect_request(question, evidence.overrides(scope, search_type, strategy, top_n, k, threshold))
    waiting = Waiting(terminal.err, "finding evidence…", wanted=not as_json)
    with connection.gateway(url, timeout, state_dir) as gateway, waiting:
        ledger = gateway.post("/v1/inspect", request, Ledger)
    if as_json:
        terminal.result(ledger)
    else:
        terminal.show(ledger_view(ledger, terminal.out, was_sent=False))
    if ledger.outcome is Outcome.EMPTY:
        raise typer.Exit(int(ExitCode.FAILED))


def _stream(gateway: Service, request: ChatCompletionRequest, terminal: Terminal) -> Answer:
    written = False

    def write(text: str) -> None:
        nonlocal written
        if not terminal.as_json:
            if not written:
                waiting.stop()
            written = True
            sys.stdout.write(printable(text))
            sys.stdout.flush()

    # One line for both steps: the gateway says nothing until the first text is there.
    waiting = Waiting(terminal.err, "finding evidence, then the model reads it…", wanted=not terminal.as_json)
    try:
        with waiting:
            return ask_gateway(gateway, request, write)
    finally:
        if written:
            sys.stdout.write("\n")
            sys.stdout.flush()


def _ledger(gateway: Service, answer: Answer, terminal: Terminal) -> Ledger | None:
    ledger_id = answer.answered.ledger_id
    if ledger_id is None:
        return None
    try:
        return gateway.get(f"/v1/ledgers/{ledger_id}", Ledger)
    except RequestRefusedError as refusal:
        if refusal.problem_code != ErrorCode.NOT_FOUND:
            raise
        terminal.note("the gateway keeps no ledgers", style="yellow")
        return None


def _evidence_parts(answer: Answer, ledger: Ledger | None, terminal: Terminal) -> list[RenderableType]:
    parts: list[RenderableType] = [*verdict(answer.answered)]
    if answer.answered.citations:
        parts += [Text(), citations(answer.answered.citations)]
    parts.append(Text())
    if ledger is None:
        parts.append(funnel(answer.answered.totals))
    else:
        parts.append(ledger_view(ledger, terminal.out, abstained=answer.answered.abstained))
    return parts


def _save(path: Path, question: str, answer: Answer, ledger: Ledger | None) -> None:
    drawing = Terminal(as_json=False, out=svg.recorder(), err=svg.recorder())
    parts: list[RenderableType] = [
        Text.assemble(("$ ", "bold green"), f'steelyard ask "{printable(question)}"'),
        Text(printable(answer.text), style="bold"),
        *_evidence_parts(answer, ledger, drawing),
    ]
    svg.save(path, "steelyard ask", parts, drawing.out)
