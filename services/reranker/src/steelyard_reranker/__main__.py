"""`python -m steelyard_reranker`: run the reranker service."""

from steelyard_runtime.serve import run

from .settings import RerankerSettings

if __name__ == "__main__":
    run("reranker", RerankerSettings, lambda settings: settings.reranker_port, "steelyard_reranker.app:build")
