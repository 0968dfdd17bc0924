"""The frozen manifest: one retrieval snapshot with its annotated evidence, which no later run can change."""

from .file import read_manifest, write_manifest
from .form import (
    FORMAT,
    FrozenCandidate,
    FrozenQuery,
    Manifest,
    ModelIdentity,
    Place,
    TruncationSide,
    Unit,
    sealed,
)

__all__ = [
    "FORMAT",
    "FrozenCandidate",
    "FrozenQuery",
    "Manifest",
    "ModelIdentity",
    "Place",
    "TruncationSide",
    "Unit",
    "read_manifest",
    "sealed",
    "write_manifest",
]
