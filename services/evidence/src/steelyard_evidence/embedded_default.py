"""The model of the embedded default, which reads the texts of a snapshot without services."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from steelyard_models.cache import locate
from steelyard_models.catalogue import Model, load_catalogue
from steelyard_models.encoder import OnnxTextEncoder
from steelyard_models.errors import ModelError

from .errors import RunError

MODEL_ID = "all-minilm-l6-v2"
Encoder = TypeVar("Encoder", bound=OnnxTextEncoder)


def embedded_encoder(
    kind: Callable[..., Encoder], model_id: str = MODEL_ID, model_dir: Path | None = None
) -> tuple[Model, Encoder]:
    """A catalogue's model, and its encoder made by `kind`; raises RunError when its files are absent or damaged."""
    try:
        model = load_catalogue().model(model_id)
        return model, kind(locate(model_id, model_dir), threads=1, max_tokens=model.max_tokens)
    except ModelError as error:
        raise RunError(str(error)) from error
