"""The token that the services show each other, from a file and from nowhere else."""

import re

from .secret_file import secret_text
from .settings.groups import ServiceTokenSettings

_TOKEN = re.compile(r"(?!changeme)[\x21-\x7e]{16,}", re.IGNORECASE)
_LEAST_DIFFERENT = 4


def service_token(settings: ServiceTokenSettings) -> str | None:
    """The token that services show each other, or None when the setting names no file.

    Raises ValueError, naming the setting and never the token, when the file can not be read or holds a placeholder.
    """
    if settings.steelyard_service_token_file is None:
        return None
    setting, path = "STEELYARD_SERVICE_TOKEN_FILE", settings.steelyard_service_token_file
    token = secret_text(setting, path)
    if not _TOKEN.fullmatch(token) or len(set(token)) < _LEAST_DIFFERENT:
        raise ValueError(
            f"{setting}={path!r} holds no real token: at least 16 printable ASCII characters without spaces"
        )
    return token
