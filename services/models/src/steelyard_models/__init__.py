"""Verified model files and the in-process models of the embedded default."""
