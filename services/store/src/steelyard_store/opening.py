"""From settings to an open store: the one place that knows which stores there are.

What a store needs beyond the standard library and numpy is imported when that store is the one in use.
"""

# ruff: noqa: D102  the settings' own declarations say what each of them means.

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self

from steelyard_store.embedded import EmbeddedReader, EmbeddedWriter
from steelyard_store.embedded.audit import audit as audit_file
from steelyard_store.embedded.compaction import compact as compact_file
from steelyard_store.embedded.upgrading import upgrade
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.port import ChunkReader, ChunkWriter

if TYPE_CHECKING:
    from steelyard_store.arangodb import ArangoAddress


class StoreConfiguration(Protocol):
    """The settings of a store, whoever reads them."""

    @property
    def store(self) -> Literal["embedded", "arangodb"]: ...

    @property
    def store_path(self) -> Path: ...

    @property
    def arango_url(self) -> Sequence[str]: ...

    @property
    def arango_database(self) -> str: ...

    @property
    def arango_user(self) -> str | None: ...

    @property
    def arango_password_file(self) -> str | None: ...


class OpenedReader(ChunkReader, Protocol):
    """A reader that an ``async with`` closes."""

    async def warm(self) -> None:
        """Bring into memory what the first search would otherwise wait for.

        Raises:
            StoreError: as ``ChunkReader.check`` does.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class OpenedWriter(ChunkWriter, Protocol):
    """A writer that an ``async with`` closes."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


def locate(configuration: StoreConfiguration) -> Path | ArangoAddress:
    """Return where the configured store is, without looking whether it is there.

    Raises:
        ValueError: the password file is missing, unreadable, empty or a placeholder.
    """
    if configuration.store == "embedded":
        return configuration.store_path
    from steelyard_store.arangodb import ArangoAddress
    from steelyard_store.arangodb.credentials import read_password

    if configuration.arango_password_file is None:
        raise ValueError("ARANGO_PASSWORD_FILE is not set, which STORE=arangodb needs")
    return ArangoAddress(
        urls=tuple(configuration.arango_url),
        database=configuration.arango_database,
        username=configuration.arango_user or "",
        password=read_password("ARANGO_PASSWORD_FILE", configuration.arango_password_file),
    )


def open_reader(
    location: Path | ArangoAddress,
    *,
    model: ModelIdentity | None = None,
    remaining: Callable[[], float | None] = lambda: None,
    on_fallback: Callable[[str], None] = lambda _reason: None,
) -> OpenedReader:
    """Open a store for reading; opening does no work, so a store that is missing is no error yet.

    Args:
        location: from ``locate``.
        model: the model that the caller embeds queries with; None accepts the store's.
        remaining: seconds until the deadline of the call that asks, None when it has none.
        on_fallback: told why an exact search had to stand in for a vector index.
    """
    if isinstance(location, Path):
        return EmbeddedReader(location, model=model)
    from steelyard_store.arangodb import ArangoReader

    return ArangoReader(location, model=model, remaining=remaining, on_fallback=on_fallback)


def open_writer(location: Path | ArangoAddress) -> OpenedWriter:
    """Open a store for writing; opening does no work."""
    if isinstance(location, Path):
        return EmbeddedWriter(location)
    from steelyard_store.arangodb import ArangoWriter

    return ArangoWriter(location)


def audit(location: Path | ArangoAddress) -> list[str]:
    """Return every contradiction in the store; a sound one gives an empty list. Reads all of it.

    Raises:
        StoreError: it can not be read.
    """
    if isinstance(location, Path):
        return audit_file(location)
    from steelyard_store.arangodb.maintenance import audit as audit_graph

    return audit_graph(location)


def migrate(location: Path | ArangoAddress) -> list[str]:
    """Bring the store to what this release wants of it, and return what was done, a line each.

    Raises:
        StoreError: it can not be read or changed.
    """
    if isinstance(location, Path):
        return upgrade(location)
    from steelyard_store.arangodb.maintenance import migrate as migrate_graph

    return migrate_graph(location)


def compact(location: Path | ArangoAddress) -> list[str]:
    """Give back the space of what was deleted and return what was done, a line each; ArangoDB does it by itself.

    Raises:
        StoreError: it can not be read or changed.
    """
    if not isinstance(location, Path):
        return []
    before, after = compact_file(location)
    return [f"rewrote {location} without what was deleted: {before:,} bytes before, {after:,} after"]
