"""The stack: settings, ports, models and store."""

import asyncio
import os
from pathlib import Path

from steelyard_models.cache import default_cache_dir, locate
from steelyard_models.errors import ModelError
from steelyard_runtime.settings.groups import StoreSettings
from steelyard_store.embedded import EmbeddedReader
from steelyard_store.errors import StoreError, StoreNotInitialised
from steelyard_store.records import StoreInfo

from .. import settings_catalogue
from ..errors import ConfigurationError
from ..services import ServiceSpec
from ..supervisor import ports
from ..supervisor.state import RunRecord
from .finding import Finding, Level, judge


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


def store(settings: StoreSettings) -> Finding:
    """Whether the store can be read, and its folder written."""
    path = settings.store_path
    try:
        info = asyncio.run(_info(path))
    except StoreNotInitialised:
        existing = next(it for it in (path.absolute().parent, *path.absolute().parents) if it.exists())
        return judge(
            "store",
            f"none at {path} yet; the first ingestion creates it",
            ok=os.access(existing, os.W_OK),
            otherwise=Level.FAIL,
            fix=f"Make {existing} writable, or set STORE_PATH.",
        )
    except StoreError as error:
        fix = "Restore it from a backup, or remove it and ingest the documents again."
        return Finding(name="store", level=Level.FAIL, found=str(error), fix=fix)
    return Finding(name="store", level=Level.OK, found=f"{path}: {info}")


async def _info(path: Path) -> str:
    async with EmbeddedReader(path) as reader:
        info: StoreInfo = await reader.check()
    return f"{info.documents} documents, {info.chunks} chunks"
