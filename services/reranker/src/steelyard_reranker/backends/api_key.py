"""The key that a model server is shown."""

import re
from pathlib import Path

_KEY = re.compile(r"(?!changeme)[\x21-\x7e]+", re.IGNORECASE)


def api_key(path: str | None) -> str | None:
    """The key in RERANK_API_KEY_FILE, or None when the setting names no file.

    Raises ValueError, naming the setting and never the key, when the file can not be read or holds no key.
    """
    if path is None:
        return None
    named = f"RERANK_API_KEY_FILE={path!r}"
    try:
        key = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{named} can not be read ({type(error).__name__})") from None
    if not _KEY.fullmatch(key):
        raise ValueError(f"{named} holds no key: printable ASCII characters without spaces")
    return key
