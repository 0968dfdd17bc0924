"""Which part of an answer the sent evidence supports: pure functions of texts, without models, I/O or settings."""
