"""`python -m steelyard_retriever`: run the retriever service."""

from steelyard_runtime.serve import run

from .app import build
from .settings import RetrieverSettings

if __name__ == "__main__":
    run("retriever", RetrieverSettings, lambda settings: settings.retriever_port, build)
