"""`steelyard models`: the commands of `python -m steelyard_models`."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from steelyard_models.__main__ import main
from steelyard_models.catalogue import SourceKind

from .. import options

_Names = Annotated[list[str] | None, typer.Argument(metavar="NAME...", help="Models of the catalogue.")]
_CacheDir = Annotated[
    Path | None,
    typer.Option(
        "--cache-dir",
        metavar="FOLDER",
        parser=options.folder,
        help="Without it, STEELYARD_MODEL_DIR, else the user's cache.",
    ),
]


def _known(kinds: list[str] | None) -> list[str] | None:
    for kind in kinds or []:
        if kind not in get_args(SourceKind):
            raise typer.BadParameter(f"{kind!r} is none of {', '.join(get_args(SourceKind))}")
    return kinds


_Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="|".join(get_args(SourceKind)),
        callback=_known,
        help="Try only this kind (repeatable).",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    models = typer.Typer(help="Fetch, list and verify model files.", no_args_is_help=True)
    models.command()(fetch)
    models.command("list")(list_models)
    models.command()(verify)
    app.add_typer(models, name="models")


def fetch(
    names: _Names = None,
    every: Annotated[bool, typer.Option("--all", help="Every model of the catalogue.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Only check what is there.")] = False,
    source: _Sources = None,
    cache_dir: _CacheDir = None,
    as_json: options.Json = False,
) -> None:
    """Bring models into the cache; without names, those of the embedded default."""
    flags = ["--all"] * every + ["--offline"] * offline
    _run("fetch", names, [*flags, *(f"--source={kind}" for kind in source or [])], cache_dir, as_json=as_json)


def list_models(cache_dir: _CacheDir = None, as_json: options.Json = False) -> None:
    """Show the catalogue and what is cached."""
    _run("list", None, [], cache_dir, as_json=as_json)


def verify(names: _Names = None, cache_dir: _CacheDir = None, as_json: options.Json = False) -> None:
    """Hash cached files in full; without names, every cached model."""
    _run("verify", names, [], cache_dir, as_json=as_json)


def _run(command: str, names: list[str] | None, flags: list[str], cache_dir: Path | None, *, as_json: bool) -> None:
    shared = ["--json"] * as_json + ([] if cache_dir is None else [f"--cache-dir={cache_dir}"])
    raise typer.Exit(main([command, *flags, *shared, *(["--", *names] if names else [])]))
