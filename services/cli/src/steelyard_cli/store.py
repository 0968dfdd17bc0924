"""The store that the settings name, for commands: its errors are theirs."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel

from steelyard_models.catalogue import load_catalogue
from steelyard_models.errors import ModelError
from steelyard_runtime.settings.base import SettingsError
from steelyard_runtime.settings.groups import EmbeddingModelSettings, StoreSettings
from steelyard_store import opening
from steelyard_store.errors import StoreError, StoreUnavailable
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.records import StoreInfo

from .errors import ConfigurationError, StoreFailedError
from .exits import ExitCode

if TYPE_CHECKING:
    from steelyard_store.arangodb import ArangoAddress


class StoreReport(BaseModel):
    """A store as it is reported."""

    store: str
    location: str
    schema_version: int
    model: str
    documents: int
    chunks: int
    vector_search: str
    vector_fallback: str | None

    @classmethod
    def of(cls, info: StoreInfo) -> Self:
        """What the store says of itself."""
        return cls(
            store=info.store,
            location=info.location,
            schema_version=info.schema_version,
            model=str(info.model),
            documents=info.documents,
            chunks=info.chunks,
            vector_search=info.vector_search,
            vector_fallback=info.vector_fallback,
        )

    def __str__(self) -> str:
        return (
            f"{self.store} store at {self.location}: {self.documents} documents, {self.chunks} chunks of {self.model}, "
            f"{self.vector_search} vector search"
        )


@dataclass(frozen=True, slots=True)
class ConfiguredStore:
    """One store, opened anew for each of these calls; every one of them raises StoreFailedError."""

    location: "Path | ArangoAddress"

    @classmethod
    def of_settings(cls) -> Self:
        """The store of the environment's settings; raises ConfigurationError."""
        try:
            return cls(opening.locate(StoreSettings.load()))
        except (SettingsError, ValueError) as error:
            raise ConfigurationError(str(error)) from None

    def initialise(self) -> StoreReport:
        """Create it for the settings' embedding model; raises ConfigurationError for one that is in no catalogue."""
        try:
            settings = EmbeddingModelSettings.load()
            if settings.embedding_backend != "local":
                raise ConfigurationError(
                    f"EMBEDDING_BACKEND={settings.embedding_backend}: only the running embedding service knows the"
                    " revision and the dimension of its server's model",
                    hint="Start the services: dataprep creates the store when the embedding service is ready.",
                )
            model = load_catalogue().model(settings.embedding_model_id)
        except (SettingsError, ModelError) as error:
            raise ConfigurationError(str(error)) from None
        if model.dimension is None:
            raise ConfigurationError(f"EMBEDDING_MODEL_ID={model.name!r} is no embedding model")
        identity = ModelIdentity(model.name, model.revision, model.dimension)

        async def create() -> StoreInfo:
            async with opening.open_writer(self.location) as writer:
                return await writer.initialise(identity)

        return StoreReport.of(_awaited(create()))

    def describe(self) -> StoreReport:
        """What it says of itself."""

        async def check() -> StoreInfo:
            async with opening.open_reader(self.location) as reader:
                return await reader.check()

        return StoreReport.of(_awaited(check()))

    def audit(self) -> list[str]:
        """Every contradiction in it."""
        return _reported(lambda: opening.audit(self.location))

    def migrate(self) -> list[str]:
        """What was done to bring it to this release."""
        return _reported(lambda: opening.migrate(self.location))

    def compact(self) -> list[str]:
        """What was done to give back the space of what was deleted."""
        return _reported(lambda: opening.compact(self.location))


def _awaited(work: Coroutine[Any, Any, StoreInfo]) -> StoreInfo:
    with _store_errors():
        return asyncio.run(work)


def _reported(work: Callable[[], list[str]]) -> list[str]:
    with _store_errors():
        return work()


@contextmanager
def _store_errors() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        later = isinstance(error, StoreUnavailable)
        raise StoreFailedError(str(error), ExitCode.UNAVAILABLE if later else ExitCode.FAILED) from error
