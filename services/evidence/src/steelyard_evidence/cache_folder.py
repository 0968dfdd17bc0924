"""Where what is dear to compute is kept for the next call."""

import os
from pathlib import Path


def default_cache() -> Path:
    """In the user's cache unless a command names another folder; never in the project."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "steelyard" / "evidence"
