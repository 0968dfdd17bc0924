"""What holds for every model server: texts are measured here, split into its batches, and its failures have codes."""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode, UpstreamError
from steelyard_models.tokenizer import TextTokenizer
from steelyard_runtime.batches import AT_ONCE, ask_all, batches
from steelyard_runtime.model_server import ModelServer, ServerFault
from steelyard_runtime.spaced import GOOD_FOR_S

from .port import Vectors

MAX_ROWS = 32
"""More would save no time, since servers batch by themselves, and a request of a user waits behind each batch."""
MAX_TEXT_BYTES = 1_500_000
"""TEI refuses bodies above 2,000,000 bytes; JSON writes some characters with more bytes than they have."""
PROBE_TIMEOUT_S = 4.0
"""Below the patience of whoever looks at readiness, so that what it is told is the cause."""

_CODES = {
    ServerFault.UNREACHABLE: ErrorCode.UPSTREAM_UNREACHABLE,
    ServerFault.TIMEOUT: ErrorCode.UPSTREAM_TIMEOUT,
    ServerFault.OVERLOADED: ErrorCode.OVERLOADED,
    ServerFault.UNAUTHORIZED: ErrorCode.MODEL_UNAVAILABLE,
    ServerFault.MISDECLARED: ErrorCode.MODEL_UNAVAILABLE,
}
_FIXES = {
    ServerFault.UNAUTHORIZED: "; EMBEDDING_API_KEY_FILE should hold a key that it takes",
    ServerFault.REJECTED: " to texts that fit by their measure; EMBEDDING_MODEL_DIR should hold the tokenizer of the"
    " model that it serves, and EMBEDDING_MODEL_ID its name",
}


def failure(reason: str, detail: str, /, *, hold_s: float = 0.0) -> UpstreamError:
    """The error of a failed call to the model server: unreachable, late, overloaded, unavailable, or a bad reply."""
    fault = ServerFault(reason)
    code = _CODES.get(fault, ErrorCode.UPSTREAM_BAD_REPLY)
    after = max(1, math.ceil(hold_s)) if code is ErrorCode.OVERLOADED or hold_s else None
    return UpstreamError(code, detail + _FIXES.get(fault, ""), stage=Stage.EMBEDDING, retry_after_s=after)


class ServedBackend(ABC):
    """A model on a server, measured with the tokenizer.json of a folder here."""

    runs_at_once = AT_ONCE
    probe_interval_s = GOOD_FOR_S
    dimension: int | None = None
    max_tokens: int | None = None
    revision = "unknown"

    def __init__(self, server: ModelServer, model_id: str, tokenizer: TextTokenizer) -> None:
        self.model_id = model_id
        self.tokenizer_sha256 = tokenizer.sha256
        self._server = server
        self._tokenizer = tokenizer
        self._rows = MAX_ROWS

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """See EmbeddingBackend."""
        return self._tokenizer.count_many(texts, special=True)

    async def look(self) -> None:
        """See EmbeddingBackend. Raises UpstreamError, and ModelChangedError."""
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                await self._look()
        except TimeoutError:
            raise failure(
                ServerFault.TIMEOUT, f"the model server at {self._server.base_url} said nothing of itself in time"
            ) from None

    async def embed(self, texts: Sequence[str], *, deadline: float | None = None, probing: bool = False) -> Vectors:
        """See EmbeddingBackend. Raises UpstreamError; a failing batch fails them all."""
        clock = asyncio.get_running_loop().time
        until = clock() + PROBE_TIMEOUT_S if probing else deadline
        server = self._server.apart if probing else self._server
        found: dict[int, Vectors] = {}

        async def ask(rows: Sequence[int]) -> None:
            time_s = None if until is None else max(0.0, until - clock())
            found[rows[0]] = await self._ask(server, [texts[row] for row in rows], time_s)

        sizes = [(row, len(text.encode())) for row, text in enumerate(texts)]
        await ask_all(ask, list(batches(sizes, self._rows, MAX_TEXT_BYTES)))
        parts = [found[first] for first in sorted(found)]
        if len({part.shape[1] for part in parts}) > 1:
            raise failure(ServerFault.BAD_REPLY, "the model server's batches have vectors of several dimensions")
        return np.concatenate(parts)

    @abstractmethod
    async def _look(self) -> None:
        """See `look`."""

    @abstractmethod
    async def _ask(self, server: ModelServer, texts: Sequence[str], time_s: float | None) -> Vectors:
        """Unit vectors of the texts of one batch, in their order. Raises UpstreamError."""
