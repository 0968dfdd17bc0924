"""The stack: settings, ports, models and store."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard_models.cache import default_cache_dir, locate
from steelyard_models.errors import ModelError
from steelyard_models.tokenizer import TextTokenizer
from steelyard_runtime.settings.groups import StoreSettings
from steelyard_store import opening
from steelyard_store.errors import StoreError, StoreNotInitialised, StoreUnavailable
from steelyard_store.records import StoreInfo

from ..configuration import settings_catalogue
from ..errors import ConfigurationError
from ..stack.services import ServiceSpec
from ..supervisor import ports
from ..supervisor.state import RunRecord
from .finding import Finding, Level, judge

if TYPE_CHECKING:
    from steelyard_store.arangodb import ArangoAddress


def settings() -> Finding:
    """Whether every service accepts the environment."""
    faults = settings_catalogue.faults()
    return judge(
        "settings",
        "; ".join(faults) or "accepted",
        ok=not faults,
        otherwise=Level.FAIL,
        fix="Change or remove the named variables; `steelyard config explain` shows all.",
    )


def port(spec: ServiceSpec, run: RunRecord | None) -> Finding:
    """Whether a service's port is free, or its own."""
    name = f"port of {spec.name}"
    try:
        number = spec.port(os.environ)
    except ConfigurationError as error:
        return Finding(name=name, level=Level.FAIL, found=str(error), fix=f"Set {spec.port_variable} to a free port.")
    if run is not None and number in {service.port for service in run.services}:
        return Finding(name=name, level=Level.OK, found=f"{number}, in use by the stack that runs here")
    free = ports.is_free(spec.host(os.environ), number)
    return judge(
        name,
        f"{number}, free" if free else f"{number} is taken by {ports.holder(number)}",
        ok=free,
        otherwise=Level.FAIL,
        fix=f"Stop that process, or set {spec.port_variable} to a free port.",
    )


def model(name: str, folder: str | None) -> Finding:
    """Whether a model's files are there and are the right ones; hashes them when nobody has yet."""
    cache = default_cache_dir() if folder is None else Path(folder)
    try:
        found = locate(name, cache)
    except ModelError as error:
        return Finding(
            name=f"model {name}",
            level=Level.FAIL,
            found=str(error),
            fix=f"steelyard models fetch {name}",
        )
    return Finding(name=f"model {name}", level=Level.OK, found=f"verified in {found}")


def tokenizer(folder: Path) -> Finding:
    """Whether a folder has the tokenizer.json by which texts for a server's embedding model are measured."""
    name = f"tokenizer in {folder}"
    try:
        found = TextTokenizer(folder)
    except ModelError as error:
        fix = "Put the model's tokenizer.json into that folder, or set EMBEDDING_MODEL_DIR to the one that has it."
        return Finding(name=name, level=Level.FAIL, found=str(error), fix=fix)
    return Finding(name=name, level=Level.OK, found=f"readable, {found.sha256[:12]}")


def store(settings: StoreSettings) -> Finding:
    """Whether the store can be read, and the folder of an embedded one written."""
    try:
        location = opening.locate(settings)
    except ValueError as error:
        fix = "Write the server's password or an access token into that file."
        return Finding(name="store", level=Level.FAIL, found=str(error), fix=fix)
    try:
        info = asyncio.run(_info(location))
    except StoreNotInitialised as error:
        return _none_yet(location) if isinstance(location, Path) else _no_graph_yet(str(error))
    except StoreError as error:
        fix = "Restore it from a backup, or remove it and ingest the documents again."
        if isinstance(error, StoreUnavailable) and not isinstance(location, Path):
            fix = "Start the server, or set ARANGO_URL, ARANGO_USER and ARANGO_PASSWORD_FILE to reach it."
        return Finding(name="store", level=Level.FAIL, found=str(error), fix=fix)
    found = f"{info.location}: {info.documents} documents, {info.chunks} chunks, {info.vector_search} vector search"
    return Finding(name="store", level=Level.OK, found=found)


def _none_yet(path: Path) -> Finding:
    existing = next(it for it in (path.absolute().parent, *path.absolute().parents) if it.exists())
    return judge(
        "store",
        f"none at {path} yet; the first ingestion creates it",
        ok=os.access(existing, os.W_OK),
        otherwise=Level.FAIL,
        fix=f"Make {existing} writable, or set STORE_PATH.",
    )


def _no_graph_yet(said: str) -> Finding:
    found = f"{said}; `steelyard store init` or the first ingestion creates it"
    return Finding(name="store", level=Level.OK, found=found)


async def _info(location: "Path | ArangoAddress") -> StoreInfo:
    async with opening.open_reader(location) as reader:
        return await reader.check()
