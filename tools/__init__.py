"""Generators of everything that is derived from the code; run as `python -m tools.<name>`."""
