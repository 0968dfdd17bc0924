"""Secrets come from files and from nowhere else."""

from pathlib import Path

_LARGEST_BYTES = 64 * 1024
"""More than any token or key, and little enough to be read from whatever the path leads to."""


def secret_text(setting: str, path: str) -> str:
    """What is in the file that `setting` names, without white space around it.

    Raises ValueError, naming the setting and never what is in the file, when it can not be read or is no secret's.
    """
    named = f"{setting}={path!r}"
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(_LARGEST_BYTES + 1)
        if len(content) > _LARGEST_BYTES:
            raise ValueError(f"{named} holds more than {_LARGEST_BYTES} bytes, which no secret has")
        return content.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{named} can not be read ({type(error).__name__})") from None
