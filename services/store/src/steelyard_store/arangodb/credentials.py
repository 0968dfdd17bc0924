"""The secret that the store's server is shown, from a file and from nowhere else."""

from __future__ import annotations

from pathlib import Path

_SHORTEST = 8
_LONGEST = 4096
_LARGEST_BYTES = 2**16
_LEAST_DIFFERENT = 5
_PLACEHOLDERS = ("changeme", "change-me", "change_me", "placeholder", "password", "secret", "example", "todo", "xxx")


def read_password(setting: str, path: str) -> str:
    """Return the password or access token that the file holds, without white space around it.

    Raises:
        ValueError: the file can not be read, or holds nothing, or what somebody left to be replaced. The message names
            the setting and the file, never what is in it.
    """
    named = f"{setting}={path!r}"
    try:
        with Path(path).open("rb") as stream:
            secret = stream.read(_LARGEST_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError) as cause:
        raise ValueError(f"{named} can not be read ({type(cause).__name__})") from None
    if not _SHORTEST <= len(secret) <= _LONGEST or len(set(secret)) < _LEAST_DIFFERENT or not secret.isprintable():
        raise ValueError(f"{named} holds no real password: {_SHORTEST} to {_LONGEST} characters on one line")
    if secret.startswith("<") or secret.casefold().startswith(_PLACEHOLDERS):
        raise ValueError(f"{named} holds a placeholder: replace it by the server's password or an access token")
    return secret
