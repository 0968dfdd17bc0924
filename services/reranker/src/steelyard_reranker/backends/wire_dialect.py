"""What differs between servers of the Cohere dialect of reranking. It is declared part by part and never sniffed.

Errors::

    ValueError     a part is unknown, given twice, or has a value that is not allowed; names the part
"""

from dataclasses import dataclass, fields, replace
from typing import Any

from .scale import Scale

_CHOICES = {
    "top_n": ("send", "omit"),
    "documents": ("text", "object"),
    "scale": tuple(Scale),
    "model": ("pointwise", "listwise"),
}
WORDS = (
    "parts such as `path=/v2/rerank top_n=send documents=text scale=probability model=pointwise listing=/v1/models`,"
    " each at most once"
)


@dataclass(frozen=True, slots=True)
class WireDialect:
    """How one server is asked, and what its scores are.

    `path` is under RERANK_URL. `top_n` is sent as the number of documents or left out, for servers that refuse it.
    `documents` are bare texts or objects with a text. A `listwise` model sees all documents of a request at once, so
    its requests are never split. `listing` is the path that lists the served models; empty for servers without one.
    """

    path: str = "/v2/rerank"
    top_n: str = "send"
    documents: str = "text"
    scale: Scale = Scale.PROBABILITY
    model: str = "pointwise"
    listing: str = ""


def parse_dialect(text: str, default: WireDialect) -> WireDialect:
    """Read `name=value` parts separated by spaces; parts that are not given are those of `default`."""
    given: dict[str, Any] = {}
    for part in text.split():
        name, _, value = part.partition("=")
        if name not in {field.name for field in fields(WireDialect)}:
            raise ValueError(f"has the part {part!r}; the parts are {', '.join(f.name for f in fields(WireDialect))}")
        if name in given:
            raise ValueError(f"has the part {name!r} twice")
        given[name] = _checked(name, value)
    return replace(default, **given)


def part_names(text: str) -> frozenset[str]:
    """The names of the parts that are given."""
    return frozenset(part.partition("=")[0] for part in text.split())


def _checked(name: str, value: str) -> str:
    if name in ("path", "listing"):
        if not value.startswith("/") or value.startswith("//") or not value.isascii() or "#" in value:
            raise ValueError(f"has {name}={value}; a path begins with one slash")
        return value
    if value not in _CHOICES[name]:
        raise ValueError(f"has {name}={value}; it should be {' or '.join(_CHOICES[name])}")
    return Scale(value) if name == "scale" else value
