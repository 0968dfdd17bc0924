"""Manifests as files."""

from pathlib import Path

from pydantic import ValidationError

from ..atomic import write_atomically
from ..errors import ManifestError, ManifestHashError
from .form import Manifest, sealed


def write_manifest(manifest: Manifest, path: Path) -> Manifest:
    """Seal a manifest and write it; returns it with its hash."""
    done = sealed(manifest)
    write_atomically(path, done.model_dump_json(indent=1) + "\n")
    return done


def read_manifest(path: Path) -> Manifest:
    """Read a manifest and check that its content is what its hash says.

    Raises ManifestError, and ManifestHashError when it was changed after it was frozen.
    """
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise ManifestError(f"{path}: {where}: {first['msg'].removeprefix('Value error, ')}") from error
    actual = manifest.content_sha256()
    if manifest.sha256 != actual:
        raise ManifestHashError(f"{path}: its content has the hash {actual}, not {manifest.sha256 or 'none'}")
    return manifest
