"""Getting the study's scores with the embedded default's model."""

from pathlib import Path

from steelyard_models.catalogue import load_catalogue
from steelyard_models.errors import ModelError
from steelyard_models.fetch import locate

from ..cache_folder import default_cache
from ..errors import RunError
from ..run.local_reader import DEFAULT_MODEL
from ..tell import Tell
from .evaluation_data import load
from .remembering import RememberingEncoder
from .scoring import Scored, Scorer


def score_all(data: Path, cache: Path | None, tell: Tell) -> list[Scored]:
    """Score every data set in `data` under every condition, or take the scores from the cache.

    Raises DatasetError without the data, RunError without the model.
    """
    try:
        model = load_catalogue().model(DEFAULT_MODEL)
        encoder = RememberingEncoder(locate(model.name), threads=1, max_tokens=model.max_tokens)
    except ModelError as error:
        raise RunError(str(error)) from error
    collections = load(data, encoder.tokenizer.count)
    return Scorer(encoder, model.revision, default_cache() if cache is None else cache).score(collections, tell)
