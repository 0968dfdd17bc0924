"""Setting types that read the environment's text strictly: no `5.0` for an integer, no `yes` for a truth value."""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from ..scopes import LONGEST_SCOPE, SCOPE_CHARACTER

_INT = re.compile(r"[+-]?[0-9]{1,19}")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_TRUTH = {"true": True, "false": False}
_HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)


_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_URL_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
"""With underscores, which Compose's own names of services may have."""
_SCOPE = re.compile(f"{SCOPE_CHARACTER}{{1,{LONGEST_SCOPE}}}")
_STORE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,47}")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a setting type allows, in words, where its annotation does not say it."""

    words: str


class EnvironmentText(str):
    """A value as the environment holds it: only this is read as a number or a truth value, never a text from code."""

    __slots__ = ()


def is_unseen(character: str) -> bool:
    """Whether nobody can see a character: controls, line breaks, bytes that are no UTF-8, and marks without width.

    A joiner between letters is seen, by what it makes of them.
    """
    return character in "\u200b\u2060\ufeff" or unicodedata.category(character) in _UNSEEN


def _int_from_text(value: Any) -> Any:
    if isinstance(value, EnvironmentText):
        if not _INT.fullmatch(value):
            raise ValueError("is not a whole number")
        return int(value)
    return value


def _float_from_text(value: Any) -> Any:
    if isinstance(value, EnvironmentText):
        if not _FLOAT.fullmatch(value):
            raise ValueError("is not a number")
        return float(value)
    return value


def _bool_from_text(value: Any) -> Any:
    if isinstance(value, EnvironmentText):
        if value not in _TRUTH:
            raise ValueError("is neither true nor false")
        return _TRUTH[value]
    return value


def _none_from_empty(value: Any) -> Any:
    return None if value == "" else value


def _names_from_text(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    return value


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if not all(names):
        raise ValueError("has an empty name")
    if len(set(names)) != len(names):
        raise ValueError("names one twice")
    return names


def _scopes(names: tuple[str, ...]) -> tuple[str, ...]:
    if not all(map(_SCOPE.fullmatch, _distinct(names))):
        raise ValueError(
            f"has a name that no API key could have, with a space or of more than {LONGEST_SCOPE} characters"
        )
    return names


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError("is not a URL") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError("is not an http or https URL with a host")
    if not is_url_host(parts.hostname):
        raise ValueError("has a host that is neither an IP address nor a host name")
    if "@" in parts.netloc or parts.query or parts.fragment or any(part.isspace() for part in value):
        raise ValueError("has user information, a query, a fragment or a space")
    return value.rstrip("/")


def is_url_host(host: str) -> bool:
    """Whether a URL can have this host: an IP address, or a name, in other letters than ASCII too."""
    if _is_address(host):
        return True
    try:
        labels = host.removesuffix(".").encode("idna").decode().split(".")
    except UnicodeError:
        return False
    return not labels[-1].isdigit() and all(map(_URL_LABEL.fullmatch, labels))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _urls(values: tuple[str, ...]) -> tuple[str, ...]:
    return _distinct(tuple(_url(value) for value in values))


def _store_name(value: str) -> str:
    if not _STORE_NAME.fullmatch(value):
        raise ValueError("is not a name that a database server takes")
    return value


def _host(value: str) -> str:
    if _is_address(value):
        return str(ipaddress.ip_address(value))
    if not _HOST_NAME.fullmatch(value) or value.rpartition(".")[2].isdigit():
        raise ValueError("is neither an IP address nor a host name")
    return value


IntSetting = Annotated[int, BeforeValidator(_int_from_text), Field(strict=True)]
FloatSetting = Annotated[float, BeforeValidator(_float_from_text), Field(strict=True, allow_inf_nan=False)]
BoolSetting = Annotated[bool, BeforeValidator(_bool_from_text), Field(strict=True)]
OptionalProbabilitySetting = Annotated[
    Annotated[float, BeforeValidator(_float_from_text), Field(strict=True, allow_inf_nan=False, ge=0, le=1)] | None,
    BeforeValidator(_none_from_empty),
]
"""A number in [0, 1], or off when the text is empty. The range is inside, because off has none."""
OptionalCosineSetting = Annotated[
    Annotated[float, BeforeValidator(_float_from_text), Field(strict=True, allow_inf_nan=False, ge=-1, le=1)] | None,
    BeforeValidator(_none_from_empty),
]
"""A cosine, or off when the text is empty."""
OptionalCountSetting = Annotated[
    Annotated[int, BeforeValidator(_int_from_text), Field(strict=True, ge=1, le=1_000_000)] | None,
    BeforeValidator(_none_from_empty),
]
"""A whole number from 1, or none when the text is empty."""
OptionalTextSetting = Annotated[str | None, BeforeValidator(_none_from_empty)]
"""A text, or none when it is empty."""
OptionalPathSetting = Annotated[Path | None, BeforeValidator(_none_from_empty)]
"""A path, or none when it is empty."""
NamesSetting = Annotated[
    tuple[str, ...],
    BeforeValidator(_names_from_text),
    AfterValidator(_distinct),
    Allowed("names separated by commas, none of them empty or twice"),
]
"""Names separated by commas."""
OptionalNamesSetting = Annotated[NamesSetting | None, BeforeValidator(_none_from_empty)]
"""Names separated by commas, or none when the text is empty."""
ScopesSetting = Annotated[
    tuple[str, ...],
    BeforeValidator(_names_from_text),
    AfterValidator(_scopes),
    Field(min_length=1),
    Allowed(
        f"names of up to {LONGEST_SCOPE} characters without spaces, separated by commas, none of them empty or twice"
    ),
]
"""Names of permission scopes separated by commas, such as API keys can have."""
UrlSetting = Annotated[str, AfterValidator(_url), Allowed("an http or https URL without user information or query")]
"""The base URL of a service, without a slash at its end."""
OptionalUrlSetting = Annotated[
    UrlSetting | None,
    BeforeValidator(_none_from_empty),
    Allowed("an http or https URL without user information or query"),
]
"""The base URL of a server, or none when the text is empty."""
UrlsSetting = Annotated[
    tuple[str, ...],
    BeforeValidator(_names_from_text),
    AfterValidator(_urls),
    Field(min_length=1),
    Allowed("http or https URLs separated by commas, without user information or query, none of them twice"),
]
"""The base URLs of several servers of the same thing, in order of preference."""
StoreNameSetting = Annotated[
    str,
    AfterValidator(_store_name),
    Allowed("a letter, then up to 47 letters, digits, underscores and hyphens"),
]
"""A name that a database server takes for its databases, collections and graphs."""
HostSetting = Annotated[str, AfterValidator(_host), Allowed("an IP address or a host name")]
"""An address to listen on."""
