"""`python -m steelyard_retriever`: run the retriever service."""

from steelyard_runtime.serve import run

from .settings import RetrieverSettings

if __name__ == "__main__":
    run("retriever", RetrieverSettings, lambda settings: settings.retriever_port, "steelyard_retriever.app:build")
