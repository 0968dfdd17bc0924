"""`steelyard replay`."""

import math
from typing import Annotated, Any

import typer

from steelyard_contracts.answers import Ledger
from steelyard_contracts.replay import Replay
from steelyard_contracts.selection import SelectionOverrides

from .. import options
from ..errors import ConfigurationError
from ..gateway import evidence_options as evidence
from ..render.replay import replay_view
from ..stack import connection
from ..terminal import Terminal

_FLOOR = "adaptive_floor_score"


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(replay)


def replay(
    ledger_id: Annotated[str, typer.Argument(callback=options.ids, help="The id of a kept ledger.")],
    strategy: evidence.StrategyOption = None,
    top_n: evidence.TopN = None,
    threshold: evidence.Threshold = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of adaptive; can be repeated; empty floor = off."),
    ] = None,
    as_json: options.Json = False,
    url: evidence.GatewayUrl = None,
    timeout: evidence.Timeout = 60.0,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Select a ledger's candidates again with other settings, without any model, and show what that changes."""
    terminal = Terminal.open(as_json=as_json)
    body: dict[str, Any] = {"ledger_id": ledger_id, "settings": overrides(given or [])}
    optional = {"strategy": strategy, "top_n": top_n, "threshold": threshold}
    body |= {name: value for name, value in optional.items() if value is not None}
    with connection.gateway(url, timeout, state_dir) as gateway:
        replayed = gateway.post("/v1/replay", body, Replay)
        ledger = None if as_json else gateway.get(f"/v1/ledgers/{ledger_id}", Ledger)
    if ledger is None:
        terminal.result(replayed)
    else:
        terminal.show(replay_view(ledger, replayed, terminal.out))


def overrides(given: list[str]) -> dict[str, float | None]:
    """The settings of `NAME=VALUE` words, named as in the environment or in the contract.

    Raises ConfigurationError naming the word for an unknown name and for a value that is no number. Ranges are the
    gateway's to know.
    """
    settings: dict[str, float | None] = {}
    for word in given:
        name, equals, text = word.partition("=")
        field = name.strip().lower()
        if not equals or field not in SelectionOverrides.model_fields:
            known = ", ".join(name.upper() for name in SelectionOverrides.model_fields)
            raise ConfigurationError(f"--set {word!r} should be NAME=VALUE with one of {known}")
        try:
            number = None if not text and field == _FLOOR else float(text)
        except ValueError:
            raise ConfigurationError(f"--set {word!r}: {text!r} is not a number") from None
        if number is not None and not math.isfinite(number):
            raise ConfigurationError(f"--set {word!r}: {text!r} is not a finite number")
        settings[field] = number
    return settings
