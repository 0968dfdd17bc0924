"""Documents of a folder, parsed and cut as ingestion does it."""

from collections.abc import Iterator
from pathlib import Path

from steelyard_dataprep.chunking import ChunkingError, chunk
from steelyard_dataprep.parsing import ParseError, parse
from steelyard_models.tokenizer import TextTokenizer

from ..errors import DatasetError
from ..manifest.form import text_sha256
from ..tell import Progress, silent
from .local_index import IndexedText


def texts_of(
    folder: Path, tokenizer: TextTokenizer, chunk_tokens: int, on_files: Progress = silent
) -> Iterator[IndexedText]:
    """Yield the chunks of every file, by path; a file's source name is its path below the folder.

    Raises DatasetError naming the file that can not be read.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    if not paths:
        raise DatasetError(f"{folder}: has no files")
    for number, path in enumerate(paths, start=1):
        name = path.relative_to(folder).as_posix()
        try:
            parsed = parse(name, path.read_bytes())
            spans = chunk(parsed, tokenizer.count, max_tokens=chunk_tokens)
        except (OSError, ParseError, ChunkingError) as error:
            raise DatasetError(f"{path}: {error}") from error
        revision = text_sha256(parsed.text)
        for span in spans:
            yield IndexedText(
                name, revision, span.char_start, span.char_end, parsed.text[span.char_start : span.char_end]
            )
        on_files(number, len(paths))
