"""The backend of the embedded default: late interaction (MaxSim over token vectors) with the embedding model's files.

It is training-free, and no cross-encoder: query and text are read apart, so a pair is the two readings together.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from steelyard_contracts.enums import PairPolicy
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_contracts.ledger import PairReport
from steelyard_models.catalogue import load_catalogue
from steelyard_models.encoder import OnnxTextEncoder
from steelyard_models.errors import ModelError
from steelyard_models.fetch import locate
from steelyard_models.local_reranker import LateInteractionReranker

from .port import Judgement, RerankBackendError


class LateInteractionScorer:
    """Scores by MaxSim. Raises steelyard_models' errors when the model's files are absent or damaged."""

    def __init__(self, model_id: str, model_dir: Path | None, threads: int) -> None:
        model = load_catalogue().model(model_id)
        self._encoder = OnnxTextEncoder(locate(model_id, model_dir), threads=threads, max_tokens=model.max_tokens)
        self.model_id = f"late-interaction:{model.name}"
        self.revision = model.revision
        self._model = LateInteractionReranker(self._encoder)
        self._special = self._encoder.tokenizer.special_tokens

    @property
    def policy(self) -> dict[str, object]:
        """See Scorer."""
        return {
            "reranker": self.model_id,
            "revision": self.revision,
            "calibration": self._model.calibration.digest(),
            "max_tokens": self._encoder.max_tokens,
            "long_document": PairPolicy.TRUNCATE,
        }

    def score(self, query: str, texts: Sequence[str]) -> list[Judgement]:
        """See Scorer."""
        limit = self._encoder.max_tokens
        query_tokens = self._encoder.tokenizer.count(query, special=True)
        if query_tokens > limit:
            raise SteelyardError(
                ErrorCode.QUERY_TOO_LONG, f"the query has {query_tokens} tokens, the reranker reads at most {limit}"
            )
        readings = [self._read(text) for text in texts]
        try:
            scores = self._model.scores(query, [reading.text for reading in readings])
        except ModelError as error:
            raise RerankBackendError("model_failed", str(error)) from error
        return [
            Judgement(float(score), reading.tokens, self._report(reading, query_tokens))
            for score, reading in zip(scores, readings, strict=True)
        ]

    def _report(self, reading: "_Reading", query_tokens: int) -> PairReport:
        return PairReport(
            tokens_total=query_tokens + reading.tokens + self._special,
            tokens_kept=query_tokens + reading.tokens_kept + self._special,
            truncated=reading.tokens_kept < reading.tokens,
            policy=PairPolicy.TRUNCATE,
            kept_spans=[(0, len(reading.text))],
            query_tokens=query_tokens,
        )

    def _read(self, text: str) -> "_Reading":
        """The start of `text` that fits the model, cut between tokens; the whole text where it fits."""
        tokenizer, room = self._encoder.tokenizer, self._encoder.max_tokens - self._special
        encoded = tokenizer.encode(text)
        kept, tokens = text, len(encoded)
        while tokens > room:
            # A cut can change how the last word is split, so what is left is counted again.
            kept = kept[: encoded.offsets[room - 1][1]]
            encoded = tokenizer.encode(kept)
            room, tokens = room - max(0, len(encoded) - room), len(encoded)
        return _Reading(kept, tokenizer.count(text), tokens)


class _Reading(NamedTuple):
    """What is read of a text, the tokens of the whole, and the tokens of what is read."""

    text: str
    tokens: int
    tokens_kept: int
