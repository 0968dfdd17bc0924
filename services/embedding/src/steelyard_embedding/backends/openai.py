"""Servers of OpenAI's dialect of embeddings: OpenAI and other hosted ones, vLLM, infinity, llama.cpp, LiteLLM.

They publish neither a revision nor whether they cut long texts. What can be held against them is held: the count of
tokens in their replies, the name of the model that answered, and the length in their listing where it has one.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_models.tokenizer import TextTokenizer
from steelyard_runtime.model_server import ModelServer, ServerFault

from .port import Vectors
from .rows import rows_by_index, unit_vectors
from .served import ServedBackend, failure

_EMBEDDINGS = "/v1/embeddings"
_MODELS = "/v1/models"


class OpenAiBackend(ServedBackend):
    """Embeds with one server, which reads texts of up to `files_limit` tokens, or of fewer if it says so."""

    def __init__(self, server: ModelServer, model_id: str, tokenizer: TextTokenizer, files_limit: int) -> None:
        super().__init__(server, model_id, tokenizer)
        self._files_limit = files_limit
        self._served: str | None = None

    async def _look(self) -> None:
        listing = await self._server.found(_MODELS)
        self.max_tokens = min(self._files_limit, _listed_length(listing, self.model_id) or self._files_limit)

    async def _ask(self, server: ModelServer, texts: Sequence[str], time_s: float | None) -> Vectors:
        sent = {"model": self.model_id, "input": list(texts), "encoding_format": "float"}
        reply = await server.post(_EMBEDDINGS, sent, timeout_s=time_s)
        if not isinstance(reply, Mapping):
            raise failure(ServerFault.BAD_REPLY, "the model server's reply is no object")
        vectors = await asyncio.to_thread(self._read, reply, texts)
        self._check_model(reply.get("model"))
        return vectors

    def _read(self, reply: Mapping[str, Any], texts: Sequence[str]) -> Vectors:
        self._check_count(reply.get("usage"), texts)
        return unit_vectors(rows_by_index(reply.get("data"), len(texts)), len(texts))

    def _check_count(self, usage: Any, texts: Sequence[str]) -> None:
        """Raise for a server that read fewer tokens than the texts have: nothing else in a reply tells that it cut.

        Special tokens are left out, because not every server counts them; a server that counts nothing says nothing.
        """
        read = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
        if type(read) is not int or read < 1:
            return
        measured = sum(self._tokenizer.count_many(texts))
        if read < measured:
            raise failure(
                ServerFault.BAD_REPLY,
                f"the model server read {read} tokens of texts that have {measured}: it cuts long texts silently, or"
                " EMBEDDING_MODEL_DIR does not hold its model's tokenizer",
            )

    def _check_model(self, named: Any) -> None:
        """Raise when the replies begin to name another model; the first name may differ from the one asked for."""
        if not isinstance(named, str):
            return
        if self._served is not None and named != self._served:
            raise failure(
                ServerFault.MISDECLARED, f"the model server embeds with {named!r}, before it was {self._served!r}"
            )
        self._served = named


def _listed_length(listing: Any, model_id: str) -> int | None:
    """The `max_model_len` of a model in a listing, as vLLM gives it."""
    rows = listing.get("data") if isinstance(listing, Mapping) else None
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, Mapping) and row.get("id") == model_id:
            length = row.get("max_model_len")
            return length if type(length) is int and length > 0 else None
    return None
