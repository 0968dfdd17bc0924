"""Text Embeddings Inference, or another server that speaks its `/embed` and `/info`."""

import asyncio
from collections.abc import Sequence

from steelyard_runtime.model_server import ModelServer
from steelyard_runtime.tei_info import Declared, check_info, read_info

from .port import ModelChangedError, Vectors
from .rows import unit_vectors
from .served import MAX_ROWS, ServedBackend, failure


class TeiBackend(ServedBackend):
    """Embeds with the declared model, in the revision that was served when it was first reached, and with no other."""

    async def _look(self) -> None:
        info = read_info(await self._server.get("/info"), failure)
        check_info(
            info, Declared("embedding", self.model_id, "EMBEDDING_MODEL_ID", "serve an embedding model"), failure
        )
        if self.max_tokens is not None and info.model_sha != self.revision:
            raise ModelChangedError(
                f"the TEI server serves revision {info.model_sha} of {self.model_id!r}, at start it was"
                f" {self.revision}; restart the embedding service to take it for the model, and then the documents"
                " have to be ingested anew"
            )
        self.revision = info.model_sha
        self.max_tokens = info.max_input_length
        self._rows = min(MAX_ROWS, info.max_client_batch_size)

    async def _ask(self, server: ModelServer, texts: Sequence[str], time_s: float | None) -> Vectors:
        sent = {"inputs": list(texts), "truncate": False, "normalize": True}
        reply = await server.post("/embed", sent, timeout_s=time_s)
        return await asyncio.to_thread(unit_vectors, reply, len(texts))
