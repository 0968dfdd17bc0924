"""`python -m steelyard_embedding`: run the embedding service."""

from steelyard_runtime.serve import run

from .settings import EmbeddingSettings

if __name__ == "__main__":
    run("embedding", EmbeddingSettings, lambda settings: settings.embedding_port, "steelyard_embedding.app:build")
