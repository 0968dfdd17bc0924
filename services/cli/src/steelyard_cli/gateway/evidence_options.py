"""Options of the commands that ask the gateway, and the request that they make."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from steelyard_contracts.answers import Ledger
from steelyard_contracts.chat import ChatCompletionRequest, InspectRequest, Message
from steelyard_contracts.enums import SearchType, Strategy

from .. import options
from ..errors import ConfigurationError
from ..refusal import refused
from .client import Service

Question = Annotated[str, typer.Argument(help="The question.", show_default=False)]
Scopes = Annotated[
    list[str] | None, typer.Option("--scope", help="Permission scope to search (repeatable); without it, the usual.")
]
SearchTypeOption = Annotated[
    SearchType | None, typer.Option("--search-type", help="Search type instead of the gateway's.")
]
StrategyOption = Annotated[
    Strategy | None, typer.Option("--strategy", help="Selection strategy instead of the gateway's.")
]
TopN = Annotated[int | None, typer.Option("--top-n", min=1, help="Candidates to keep, where the strategy counts them.")]
K = Annotated[int | None, typer.Option("--k", min=1, max=1000, help="Candidates to retrieve.")]
Threshold = Annotated[
    float | None, typer.Option("--threshold", min=0.0, max=1.0, help="Least rerank score, where the strategy has one.")
]
After = Annotated[
    list[str] | None,
    typer.Option(
        "--after",
        metavar="LEDGER",
        callback=options.ids,
        help="Ledger of an earlier turn (repeatable, oldest first).",
    ),
]
GatewayUrl = Annotated[str | None, typer.Option("--url", help="Address of the gateway; without it, the local one.")]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout", min=1.0, max=options.LONGEST_TIMEOUT_S, help="Longest silence of the gateway in seconds."
    ),
]

_OPTIONS = {
    "scopes": "--scope", "search_type": "--search-type", "reranking_strategy": "--strategy", "top_n": "--top-n",
    "k": "--k", "reranking_threshold": "--threshold", "messages": "QUESTION",
}  # fmt: skip


def overrides(
    scopes: Sequence[str] | None,
    search_type: SearchType | None,
    strategy: Strategy | None,
    top_n: int | None,
    k: int | None,
    threshold: float | None,
) -> dict[str, Any]:
    """The overrides that were given, as the contract names them; what was not given is absent."""
    given = {
        "scopes": list(scopes) if scopes else None,
        "search_type": search_type,
        "reranking_strategy": strategy,
        "top_n": top_n,
        "k": k,
        "reranking_threshold": threshold,
    }
    return {name: value for name, value in given.items() if value is not None}


def chat_request(question: str, overrides: dict[str, Any]) -> ChatCompletionRequest:
    """The streaming request; raises ConfigurationError, naming the option, for what can not be asked."""
    asked = _asked(question)
    try:
        return ChatCompletionRequest(messages=[Message(role="user", content=asked)], stream=True, **overrides)
    except ValidationError as error:
        raise refused(error, _OPTIONS) from None


def inspect_request(question: str, overrides: dict[str, Any]) -> InspectRequest:
    """The request without the model; raises ConfigurationError, naming the option, for what can not be asked."""
    asked = _asked(question)
    try:
        return InspectRequest(messages=asked, **overrides)
    except ValidationError as error:
        raise refused(error, _OPTIONS) from None


def earlier_turns(gateway: Service, ledger_ids: Sequence[str]) -> list[Message]:
    """The questions and answers of kept ledgers; raises ConfigurationError for one that holds no texts."""
    turns: list[Message] = []
    for ledger_id in ledger_ids:
        ledger = gateway.get(f"/v1/ledgers/{ledger_id}", Ledger)
        if ledger.question is None or ledger.answer is None:
            raise ConfigurationError(
                f"--after {ledger_id}: its ledger holds no question and answer",
                hint="`inspect` makes no answer, and a gateway with LEDGER_TEXTS=false keeps no texts",
            )
        turns += [Message(role="user", content=ledger.question), Message(role="assistant", content=ledger.answer)]
    return turns


def _asked(question: str) -> str:
    if not question.strip():
        raise ConfigurationError("QUESTION is blank")
    return question
