"""The analyzers of a database: the built-in ones and its own."""

from dataclasses import dataclass, field
from typing import Any

from tests.arangosim.errors import BAD_PARAMETER, CONFLICT, DATA_SOURCE_NOT_FOUND, FORBIDDEN, ArangoError
from tests.arangosim.tokenizers import Tokenizer, tokenizer

FEATURES = frozenset({"frequency", "norm", "position", "offset"})
TEXT_LOCALES = ("de", "en", "es", "fi", "fr", "it", "nl", "no", "pt", "ru", "sv", "zh")


@dataclass(frozen=True)
class Analyzer:
    """`features` decide what can be asked of an index: frequency for scores, norm for lengths, position for phrases."""

    name: str
    kind: str
    properties: dict[str, Any]
    features: frozenset[str]
    tokens: Tokenizer = field(compare=False)

    @classmethod
    def of(cls, name: str, kind: str, properties: dict[str, Any], features: Any) -> "Analyzer":
        """Raises ArangoError 10."""
        unknown = set(features) - FEATURES
        if unknown:
            raise ArangoError(BAD_PARAMETER, f"analyzer features {sorted(unknown)} are unknown")
        if "position" in features and "frequency" not in features:
            raise ArangoError(BAD_PARAMETER, "analyzer feature position needs frequency")
        return cls(name, kind, properties, frozenset(features), tokenizer(kind, properties))

    def terms(self, text: str) -> list[str]:
        return [token.term for token in self.tokens(text)]

    def body(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.kind,
            "properties": self.properties,
            "features": sorted(self.features),
        }


def _built_in() -> dict[str, Analyzer]:
    known = [Analyzer.of("identity", "identity", {}, ("frequency", "norm"))]
    for locale in TEXT_LOCALES:
        properties = {"locale": locale, "case": "lower", "stopwords": [], "accent": False, "stemming": True}
        known.append(Analyzer.of(f"text_{locale}", "text", properties, ("frequency", "norm", "position")))
    return {analyzer.name: analyzer for analyzer in known}


class Analyzers:
    """A database's own analyzers have full names `<database>::<name>`; both forms are accepted."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._known = _built_in()

    def get(self, name: str) -> Analyzer | None:
        return self._known.get(name.removeprefix(f"{self._database}::"))

    def required(self, name: Any) -> Analyzer:
        """Raises ArangoError 10."""
        found = self.get(name) if isinstance(name, str) else None
        if found is None:
            raise ArangoError(BAD_PARAMETER, f"analyzer {name!r} cannot be loaded")
        return found

    def all(self) -> list[Analyzer]:
        return list(self._known.values())

    def create(self, body: dict[str, Any]) -> tuple[Analyzer, bool]:
        """The analyzer and whether it is new. Raises ArangoError 10 for a name that is taken by another definition."""
        name = str(body.get("name", "")).removeprefix(f"{self._database}::")
        if not name or ":" in name:
            raise ArangoError(BAD_PARAMETER, f"analyzer name {name!r}")
        full = f"{self._database}::{name}"
        fresh = Analyzer.of(full, body.get("type", ""), body.get("properties") or {}, body.get("features") or ())
        old = self._known.get(name)
        if old is None:
            self._known[name] = fresh
        elif old != fresh:
            raise ArangoError(BAD_PARAMETER, f"name collision detected while registering analyzer {full}")
        return fresh, old is None

    def remove(self, name: str, *, in_use: bool) -> Analyzer:
        """Raises ArangoError 11, 1200 while a view uses it, 1203."""
        found = self.get(name)
        if found is None:
            raise ArangoError(DATA_SOURCE_NOT_FOUND, f"analyzer {name}")
        if "::" not in found.name:
            raise ArangoError(FORBIDDEN, f"built-in analyzer {name} cannot be removed")
        if in_use:
            raise ArangoError(CONFLICT, f"analyzer {name} is in use")
        return self._known.pop(name.removeprefix(f"{self._database}::"))
