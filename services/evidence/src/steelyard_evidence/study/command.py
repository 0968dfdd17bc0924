"""Getting the study's scores with the embedded default's model."""

from pathlib import Path

from ..cache_folder import default_cache
from ..embedded_default import embedded_encoder
from ..tell import Tell
from .evaluation_data import load
from .remembering import RememberingEncoder
from .scoring import Scored, Scorer


def score_all(data: Path, cache: Path | None, tell: Tell) -> list[Scored]:
    """Score every data set in `data` under every condition, or take the scores from the cache.

    Raises DatasetError without the data, RunError without the model.
    """
    model, encoder = embedded_encoder(RememberingEncoder)
    collections = load(data, encoder.tokenizer.count)
    return Scorer(encoder, model.revision, default_cache() if cache is None else cache).score(collections, tell)
