"""Release gates: what a proposed reranker configuration must show before it may replace the current one."""
