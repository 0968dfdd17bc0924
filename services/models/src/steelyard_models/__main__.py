"""`python -m steelyard_models`: fetch, list and verify model files.

Exit codes: 0 done, 1 a model could not be fetched or verified, 2 wrong usage (argparse). Results go to standard output
(one JSON document with `--json`), progress and errors to standard error.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from .cache import default_cache_dir, is_stamped, read_stamp, verify
from .catalogue import Model, SourceKind, load_catalogue
from .errors import ModelError
from .fetch import ensure
from .progress import TerminalProgress, silent


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    cache_dir = default_cache_dir() if options.cache_dir is None else options.cache_dir
    try:
        rows, text = {"fetch": _fetch, "list": _list, "verify": _verify}[options.command](options, cache_dir)
    except ModelError as error:
        sys.stderr.write((json.dumps({"error": _as_json(error)}) if options.json else f"error: {error}") + "\n")
        return 1
    sys.stdout.write((json.dumps(rows, indent=1) if options.json else text) + "\n")
    return 0


def _as_json(error: ModelError) -> dict[str, str]:
    """The error under a code made of its type's name: `UnknownModelError` is `unknown_model`."""
    words = re.findall("[A-Z][a-z]+", type(error).__name__.removesuffix("Error"))
    return {"code": "_".join(words).lower(), "message": str(error)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m steelyard_models", description="Verified model files.")
    commands = parser.add_subparsers(dest="command", required=True)
    fetch = commands.add_parser("fetch", help="bring models into the cache (without names: the embedded default)")
    fetch.add_argument("names", nargs="*", metavar="NAME")
    fetch.add_argument("--all", action="store_true", help="every model of the catalogue")
    fetch.add_argument("--offline", action="store_true", help="only check what is there")
    fetch.add_argument(
        "--source", choices=get_args(SourceKind), action="append", help="try only this kind of source (repeatable)"
    )
    listing = commands.add_parser("list", help="show the catalogue and what is cached")
    check = commands.add_parser("verify", help="hash cached files in full (without names: every cached model)")
    check.add_argument("names", nargs="*", metavar="NAME")
    for command in (fetch, listing, check):
        command.add_argument("--cache-dir", type=Path, help="default: STEELYARD_MODEL_DIR, else the user's cache")
        command.add_argument("--json", action="store_true", help="one JSON document instead of text")
    return parser


def _fetch(options: argparse.Namespace, cache_dir: Path) -> tuple[list[dict[str, Any]], str]:
    catalogue = load_catalogue()
    names = options.names or [model.name for model in catalogue if model.default or options.all]
    sources = options.source or get_args(SourceKind)
    progress = silent if options.json else TerminalProgress()
    folders = {
        name: ensure(name, cache_dir, offline=options.offline, progress=progress, sources=sources) for name in names
    }
    rows = [{"name": name, "path": str(folder)} for name, folder in folders.items()]
    return rows, "\n".join(f"{row['name']}  {row['path']}" for row in rows)


def _list(_: argparse.Namespace, cache_dir: Path) -> tuple[list[dict[str, Any]], str]:
    rows: list[dict[str, Any]] = [
        {
            "name": model.name,
            "role": model.role,
            "title": model.title,
            "licence": model.licence,
            "attribution": model.attribution,
            "bytes": model.size,
            "default": model.default,
            "state": _state(model, cache_dir / model.name),
        }
        for model in load_catalogue()
    ]
    lines = [f"{r['name']:<38} {r['role']:<9} {r['bytes'] / 1e6:>6.1f} MB  {r['state']:<10} {r['title']}" for r in rows]
    return rows, "\n".join(lines)


def _verify(options: argparse.Namespace, cache_dir: Path) -> tuple[list[dict[str, Any]], str]:
    cached = [model.name for model in load_catalogue() if _state(model, cache_dir / model.name) != "absent"]
    rows = [{"name": name, "path": str(verify(name, cache_dir))} for name in options.names or cached]
    return rows, "\n".join(f"{row['name']}  ok" for row in rows) or "nothing is cached"


def _state(model: Model, folder: Path) -> str:
    """`verified` (stamped and unchanged since), `unverified` (files present, not hashed yet or changed) or `absent`."""
    if not all((folder / file.name).is_file() for file in model.files):
        return "absent"
    stamp = read_stamp(folder)
    return "verified" if all(is_stamped(folder, file, stamp) for file in model.files) else "unverified"


if __name__ == "__main__":
    sys.exit(main())
