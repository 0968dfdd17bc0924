"""Text files as they are: nothing translated, nothing replaced, so that character offsets mean the file's own text."""

import codecs
from pathlib import Path

from .errors import InputError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_text(path: Path, encoding: str | None = None) -> str:
    """Return the text of a file, line ends unchanged and without a byte order mark.

    Without `encoding` a byte order mark decides, else it is UTF-8. Raises InputError when the file can not be read or
    is not in that encoding.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    chosen = encoding or next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(chosen)
    except LookupError as error:
        raise InputError(f"{path}: there is no encoding {chosen!r}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not {chosen}; name the file's encoding") from error
