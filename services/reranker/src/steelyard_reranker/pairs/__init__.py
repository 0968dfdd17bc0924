"""The pair that a reranker reads: how it is formatted, what fits into it, and what of a text was read."""
