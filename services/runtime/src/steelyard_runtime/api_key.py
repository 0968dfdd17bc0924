"""The key that a server which is not ours is shown, from a file and from nowhere else."""

import re

from .secret_file import secret_text

_KEY = re.compile(r"[\x21-\x7e]+")
_PLACEHOLDER = re.compile(
    r"(<.*|change[-_]?me.*|(your[-_])?(api[-_]?)?key([-_]here)?|placeholder|secret|todo|x+)", re.IGNORECASE
)


def api_key(setting: str, path: str | None) -> str | None:
    """The key in the file that `setting` names, or None when it names none.

    Raises ValueError, naming the setting and never the key, when the file can not be read or holds no key.
    """
    if path is None:
        return None
    named = f"{setting}={path!r}"
    key = secret_text(setting, path)
    if not _KEY.fullmatch(key):
        raise ValueError(f"{named} holds no key: printable ASCII characters without spaces")
    if _PLACEHOLDER.fullmatch(key):
        raise ValueError(f"{named} holds a placeholder: replace it by the server's key")
    return key
