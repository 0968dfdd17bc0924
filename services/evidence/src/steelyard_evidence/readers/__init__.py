"""Who reads pairs for the laboratory: a reranker's backend as the service opens it, or a running reranker service."""

from .backend_reader import BackendReader
from .opening import open_embedded, open_service, open_settings

__all__ = ["BackendReader", "open_embedded", "open_service", "open_settings"]
