"""Which models of the catalogue the services read files of."""

from collections.abc import Mapping
from pathlib import Path

from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_models.cache import locate
from steelyard_models.catalogue import load_catalogue
from steelyard_models.errors import ModelError, ModelMissingError
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.settings.groups import EmbeddingModelSettings, ModelFolderSettings

from .stack.services import LLM, expected

_SAY_WHO_ANSWERS = frozenset({"LLM_BACKEND", "LLM_MODEL_ID", "LLM_API_KEY_FILE"})


def needed() -> list[str]:
    """The embedding models whose files embedding, dataprep and reranker read here; none beside servers for both.

    Raises UnknownModelError.
    """
    embedding, reranker = EmbeddingModelSettings.load(), RerankerSettings.load()
    names = [embedding.embedding_model_id] if embedding.embedding_backend == "local" else []
    if reranker.rerank_backend == "local":
        late = load_catalogue().late_interaction(embedding.embedding_backend, embedding.embedding_model_id)
        names += [late.name] if late.name not in names else []
    return names


def lacks_only_the_llm(environ: Mapping[str, str]) -> bool:
    """Whether the files of the default language model are not there, all others are, and nobody has said who answers.

    Sentences of the documents can then stand in for it. A model that was asked for by name is not replaced.
    """
    if not _SAY_WHO_ANSWERS.isdisjoint(environ) or LLM not in expected(environ):
        return False
    folder, llm = ModelFolderSettings.load().steelyard_model_dir, ChatqnaSettings.load().llm_model_id
    return [name for name in (*needed(), llm) if _is_missing(name, folder)] == [llm]


def _is_missing(name: str, folder: str | None) -> bool:
    try:
        locate(name, None if folder is None else Path(folder))
    except ModelMissingError:
        return True
    except ModelError:  # there and wrong: that has to be mended, not gone around
        return False
    return False
