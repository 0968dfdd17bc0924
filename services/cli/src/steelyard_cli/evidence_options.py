"""Options of the commands that ask the gateway, and the request that they make."""

from typing import Annotated

import typer
from pydantic import ValidationError

from steelyard_contracts.chat import ChatCompletionRequest, InspectRequest, Message
from steelyard_contracts.enums import Strategy

from .errors import ConfigurationError

Question = Annotated[str, typer.Argument(help="The question.", show_default=False)]
StrategyOption = Annotated[
    Strategy | None, typer.Option("--strategy", help="Selection strategy instead of the gateway's.")
]
TopN = Annotated[int | None, typer.Option("--top-n", min=1, help="Candidates to keep, where the strategy counts them.")]
K = Annotated[int | None, typer.Option("--k", min=1, max=1000, help="Candidates to retrieve.")]
Threshold = Annotated[
    float | None, typer.Option("--threshold", min=0.0, max=1.0, help="Least rerank score, where the strategy has one.")
]
GatewayUrl = Annotated[str | None, typer.Option("--url", help="Address of the gateway; without it, the local one.")]
Timeout = Annotated[float, typer.Option("--timeout", min=1.0, help="Longest silence of the gateway in seconds.")]


def chat_request(
    question: str, strategy: Strategy | None, top_n: int | None, k: int | None, threshold: float | None
) -> ChatCompletionRequest:
    """The streaming request; raises ConfigurationError for a question that can not be asked."""
    try:
        return ChatCompletionRequest(
            messages=[Message(role="user", content=_asked(question))],
            stream=True,
            reranking_strategy=strategy,
            top_n=top_n,
            k=k,
            reranking_threshold=threshold,
        )
    except ValidationError as error:
        raise _refused(error) from None


def inspect_request(
    question: str, strategy: Strategy | None, top_n: int | None, k: int | None, threshold: float | None
) -> InspectRequest:
    """The request without the model; raises ConfigurationError for a question that can not be asked."""
    try:
        return InspectRequest(
            messages=_asked(question), reranking_strategy=strategy, top_n=top_n, k=k, reranking_threshold=threshold
        )
    except ValidationError as error:
        raise _refused(error) from None


def _asked(question: str) -> str:
    if not question.strip():
        raise ConfigurationError("QUESTION is blank")
    return question


def _refused(error: ValidationError) -> ConfigurationError:
    return ConfigurationError("\n".join(f"QUESTION: {fault['msg']}" for fault in error.errors()))
