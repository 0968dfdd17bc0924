"""Payloads, enums, errors and headers that Steelyard's services exchange; no I/O.

Import from the module that owns the noun: `documents`, `embeddings`, `retrieval`, `reranking`, `selection`, `ledger`,
`replay`, `chat`, `answers`, `dataprep`, `health`, `errors`, `enums`, `headers`, `vectors`.
"""
