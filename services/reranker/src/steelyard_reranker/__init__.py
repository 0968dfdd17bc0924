"""The reranker service: scoring and selection."""
