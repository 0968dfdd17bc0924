"""Errors of the model files and of the models that run in this process.

ModelError                           anything this distribution raises on purpose
├── CatalogueError                   models.toml (or a file in its place) breaks a rule; names the key
│   └── UnknownModelError            no stanza has this name
├── CacheError                       the model folder in the cache cannot be used as it is
│   ├── ModelMissingError            a file is absent; says which command fetches it
│   ├── ModelCorruptError            a file differs from its pinned size or SHA-256
│   └── CacheUnwritableError         the folder cannot be created or written (permissions, full disk)
├── SourceError                      one source could not deliver a file
│   ├── SourceUnreachableError       nothing answered within the time limit, or the connection broke
│   ├── SourceRefusedError           the source answered, but not with the file (status, exit code, missing member)
│   └── SourceMismatchError          the delivered bytes differ from the pinned size or SHA-256
├── FetchFailedError                 every source of a model failed; carries each source's error
├── TokenizerError                   tokenizer.json cannot be loaded
├── EncoderError                     the ONNX model cannot be loaded or returned unusable numbers
│   ├── GivenUpError                 nobody waits for what the model was computing any more
│   └── TextTooLongError             a text has more tokens than the model can read; it is never cut here
│       └── QueryTooLongError        that text is the query of a rerank call
├── CalibrationError                 the constants of the local reranker break a rule
└── LlmServerError                   the local LLM server cannot start
"""

from pathlib import Path


class ModelError(Exception):
    """Anything this distribution raises on purpose."""


class CatalogueError(ModelError):
    """The model catalogue breaks a rule."""


class UnknownModelError(CatalogueError, ValueError):
    """No stanza of the catalogue has this name, or none for that use; `setting` is the one that names it.

    A ValueError too, as any value of a setting that is not allowed.
    """

    def __init__(self, name: str, known: list[str], setting: str | None = None) -> None:
        named = "" if setting is None else f"{setting}={name!r}: "
        super().__init__(f"{named}no model is named {name!r}; the catalogue has {', '.join(known)}")
        self.name = name


class CacheError(ModelError):
    """The model folder in the cache cannot be used as it is."""


class ModelMissingError(CacheError):
    """A file of the model is absent from the cache."""

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(
            f"model {name!r}: {path} is missing; run `steelyard models fetch {name}` or `make models` "
            "(or point STEELYARD_MODEL_DIR at a folder that has it)"
        )
        self.name = name
        self.path = path


class ModelCorruptError(CacheError):
    """A cached file differs from its pinned size or SHA-256."""

    def __init__(self, name: str, path: Path, expected: str, found: str) -> None:
        super().__init__(
            f"model {name!r}: {path} has {found}, expected {expected}; "
            f"run `steelyard models fetch {name}` to replace it"
        )
        self.name = name
        self.path = path


class CacheUnwritableError(CacheError):
    """The model folder cannot be created or written."""

    def __init__(self, name: str, folder: Path, error: OSError) -> None:
        super().__init__(f"model {name!r}: {folder} cannot be written: {error}")
        self.name = name
        self.folder = folder


class SourceError(ModelError):
    """One source could not deliver a file."""


class SourceUnreachableError(SourceError):
    """Nothing answered within the time limit, or the connection broke."""


class SourceRefusedError(SourceError):
    """The source answered, but not with the file."""


class SourceMismatchError(SourceError):
    """The delivered bytes differ from the pinned size or SHA-256."""


class FetchFailedError(ModelError):
    """Every source of a model failed."""

    def __init__(self, name: str, failures: list[tuple[str, SourceError]]) -> None:
        tried = "; ".join(f"{source}: {error}" for source, error in failures) or "no source was allowed"
        super().__init__(f"model {name!r} could not be fetched ({tried})")
        self.name = name
        self.failures = failures


class TokenizerError(ModelError):
    """tokenizer.json cannot be loaded."""


class EncoderError(ModelError):
    """The ONNX model cannot be loaded or returned unusable numbers."""


class GivenUpError(EncoderError):
    """Nobody waits for what the model was computing any more."""

    def __init__(self) -> None:
        super().__init__("given up: nobody waits for the model any more")


class TextTooLongError(EncoderError):
    """A text has more tokens than the model can read."""

    def __init__(self, index: int, tokens: int, limit: int) -> None:
        super().__init__(f"text {index} has {tokens} tokens with special tokens, the model reads at most {limit}")
        self.index = index
        self.tokens = tokens
        self.limit = limit


class QueryTooLongError(TextTooLongError):
    """The query of a rerank call has more tokens than the model can read."""


class CalibrationError(ModelError):
    """The constants of the local reranker break a rule."""


class LlmServerError(ModelError):
    """The local LLM server cannot start."""
