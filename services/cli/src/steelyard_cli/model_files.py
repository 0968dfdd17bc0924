"""Which models of the catalogue the services read files of."""

from steelyard_models.catalogue import load_catalogue
from steelyard_reranker.settings import RerankerSettings
from steelyard_runtime.settings.groups import EmbeddingModelSettings


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
