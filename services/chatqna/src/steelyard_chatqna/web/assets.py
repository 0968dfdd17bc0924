"""The pages' files: templates, and what a browser loads beside them; all of them are in the package."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is served; `etag` changes with its content."""

    body: bytes
    media_type: str
    etag: str


@cache
def static() -> dict[str, Asset]:
    """Every static file by name."""
    folder = files(__package__) / "static"
    return {
        one.name: _asset(one.name, one.read_bytes()) for one in folder.iterdir() if _suffix(one.name) in _MEDIA_TYPES
    }


@cache
def templates() -> Environment:
    """The templates; all values are escaped, and a name that is not given is an error."""
    return Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _asset(name: str, body: bytes) -> Asset:
    return Asset(body, _MEDIA_TYPES[_suffix(name)], f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]
