"""Pinecone's hosted rerankers, through the official SDK.

The module is imported only when this backend is chosen, and the SDK with it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from pinecone import AsyncPinecone, RetryConfig
from pinecone.async_client.inference import AsyncInference
from pinecone.errors.exceptions import (
    ApiError,
    NotFoundError,
    PineconeConnectionError,
    PineconeError,
    PineconeTimeoutError,
)

from steelyard_runtime.model_server import reason_of_status, retry_after_s
from steelyard_runtime.spaced import Spaced

from ..pairs.format import CrossEncoderFormat
from ..row_fault import RowFault
from .batching import Limits, scored_by_one
from .bounded_transport import BoundedTransport
from .port import RerankBackendError
from .reasons import BackendReason
from .rows import scores_of
from .scale import Scale

MAX_ROWS = 100
"""Documents that the service takes in one call."""
MAX_TEXT_BYTES = 1_500_000
_SOURCE_TAG = "steelyard"
_ATTEMPT_TIMEOUT_S = 600.0
"""The SDK's own limit, out of the way: the request's deadline ends every call."""

Result = TypeVar("Result")


class PineconeBackend:
    """Scores with one hosted model. The service may answer with another than was asked for; both are recorded."""

    def __init__(self, inference: AsyncInference, model_id: str, pair_format: CrossEncoderFormat | None = None) -> None:
        self.model_id = model_id
        self._inference = inference
        self._format = pair_format
        self._returned: str | None = None
        self._most_rows = MAX_ROWS
        self._check = Spaced(self._look)

    @property
    def revision(self) -> str:
        """See RerankBackend; the service names no revision, only the model that answered last."""
        return self._returned or "unknown"

    @property
    def policy(self) -> dict[str, object]:
        """See RerankBackend."""
        return {
            "reranker": self.model_id,
            "revision": self.revision,
            "backend": "pinecone",
            "scale": Scale.PROBABILITY,
            "server_truncates": False,
            "returned_model": self._returned,
        }

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        """See RerankBackend."""
        limits = Limits(self._most_rows, MAX_TEXT_BYTES)
        try:
            scores, returned = await scored_by_one(texts, partial(self._ask, query), limits)
        except RerankBackendError:
            self._check.forget()
            raise
        self._returned = returned or self._returned
        return scores

    async def probe(self) -> None:
        """See RerankBackend. Looks at the model's page in the plan at most once a minute."""
        await self._check()

    async def _ask(self, query: str, texts: Sequence[str]) -> tuple[list[float], str | None]:
        result = await _called(
            lambda: self._inference.rerank(
                model=self.model_id,
                query=query,
                documents=[{"text": text} for text in texts],
                top_n=len(texts),
                return_documents=False,
                parameters={"truncate": "NONE"},
            )
        )
        rows = [{"index": row.index, "score": row.score} for row in result.data]
        return scores_of(rows, len(texts), "score", Scale.PROBABILITY), result.model

    async def _look(self) -> None:
        model = await _called(lambda: self._inference.get_model(model=self.model_id))
        if model.type != "rerank":
            raise RerankBackendError(
                BackendReason.MISDECLARED, f"{self.model_id!r} is no reranker but of type {model.type!r}"
            )
        if self._format is not None and model.max_sequence_length is not None:
            self._format.limit = model.max_sequence_length
        self._most_rows = min(MAX_ROWS, model.max_batch_size or MAX_ROWS)


@asynccontextmanager
async def pinecone_inference(api_key: str, host: str | None) -> AsyncIterator[AsyncInference]:
    """Open the SDK's client; `host` replaces the public one.

    The SDK tries nothing again: a second try takes the time of the first, and the breaker would not see the failures.
    """
    async with AsyncPinecone(
        api_key=api_key,
        host=host,
        source_tag=_SOURCE_TAG,
        timeout=_ATTEMPT_TIMEOUT_S,
        retry_config=RetryConfig(max_retries=0),
        additional_headers={"Accept-Encoding": "identity"},
    ) as client:
        inference = client.inference
        # The SDK offers no way in for a transport; the lock file holds its version and a test would see it move.
        http = inference._http._ensure_client()
        http._transport = BoundedTransport(http._transport)
        yield inference


async def _called(call: Callable[[], Awaitable[Result]]) -> Result:
    """Await a call of the SDK; its errors become RerankBackendError, without their messages, which quote the reply."""
    try:
        return await call()
    except NotFoundError as error:
        raise RerankBackendError(
            BackendReason.MISDECLARED, "the plan has no such model; see RERANKER_MODEL_ID"
        ) from error
    except ApiError as error:
        raise RerankBackendError(
            reason_of_status(error.status_code),
            f"the hosted model answered status {error.status_code}",
            hold_s=retry_after_s({name.title(): value for name, value in (error.headers or {}).items()}),
        ) from error
    except PineconeTimeoutError as error:
        raise RerankBackendError(BackendReason.TIMEOUT, "the hosted model did not answer in time") from error
    except PineconeConnectionError as error:
        raise RerankBackendError(BackendReason.UNREACHABLE, "the hosted model can not be reached") from error
    except PineconeError as error:
        raise RerankBackendError(
            BackendReason.BAD_REPLY, f"the hosted model's reply is unusable ({type(error).__name__})"
        ) from error
