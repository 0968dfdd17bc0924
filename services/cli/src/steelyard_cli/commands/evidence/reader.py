"""Which reranker reads the pairs of a command."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import ConfigurationError
from ...gateway.client import read_token
from ...settings import AccessSettings
from .laboratory import env_settings, laboratory

if TYPE_CHECKING:
    from steelyard_evidence.readers import BackendReader

Reranker = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        metavar="URL|FOLDER|FILE",
        help="Who reads pairs: a running reranker service, a folder with model.onnx and tokenizer.json, or an env file"
        " that names RERANK_BACKEND; without it, what the policies' env files name, else the embedded default.",
    ),
]
TokenizerFolder = Annotated[
    Path | None,
    typer.Option("--tokenizer", help="Folder with the tokenizer.json of a running service's model.", file_okay=False),
]


@contextmanager
def open_reader(reranker: str | None, tokenizer: Path | None, *policies: Path | None) -> Iterator["BackendReader"]:
    """Open the reranker of the options, of the policies' env files, or of the embedded default.

    Raises ConfigurationError for options that do not go together, and for two policies that name two rerankers.
    """
    from steelyard_evidence.policy import reranker_settings
    from steelyard_evidence.readers import open_service, open_settings

    with laboratory():
        if reranker is not None and reranker.startswith(("http://", "https://")):
            token = read_token(AccessSettings.read().steelyard_service_token_file)
            opening = open_service(reranker.rstrip("/"), token, tokenizer)
        elif tokenizer is not None:
            raise ConfigurationError("--tokenizer belongs to --reranker URL; any other reranker has its own")
        else:
            opening = open_settings(reranker_settings(_settings(reranker, policies)))
        with opening as reader:
            yield reader


def _settings(reranker: str | None, policies: tuple[Path | None, ...]) -> dict[str, str]:
    from steelyard_evidence.policy import names_reranker

    if reranker is None:
        named = [env_settings(path) for path in policies if path is not None]
        which = [names_reranker(settings) for settings in named]
        if any(one != which[0] for one in which):
            raise ConfigurationError(
                f"{' and '.join(str(path) for path in policies)} name two rerankers ({which[0]}, {which[-1]}); a run"
                " compares policies of one, which --reranker can name"
            )
        return named[0] if named else {}
    path = Path(reranker)
    if path.is_dir():
        return {"RERANK_BACKEND": "onnx", "RERANK_MODEL_DIR": str(path)}
    if path.is_file():
        return env_settings(path)
    raise ConfigurationError(f"--reranker {reranker!r} is no URL, no folder and no file")
