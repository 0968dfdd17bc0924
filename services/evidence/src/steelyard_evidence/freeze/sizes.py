"""How long the texts are that are searched, and those that are read."""

from dataclasses import dataclass

from steelyard_dataprep.chunking import CHUNKER_VERSION

from ..errors import DatasetError


@dataclass(frozen=True, slots=True)
class Sizes:
    """Most tokens of a searched chunk, and of the parent that is read in its place; without one the chunk is read."""

    chunk: int
    parent: int | None = None

    def __post_init__(self) -> None:
        if self.parent is not None and self.parent <= self.chunk:
            raise DatasetError(f"a parent of {self.parent} tokens is not longer than a chunk of {self.chunk}")

    @property
    def preprocessing(self) -> str:
        """The version of what makes the texts."""
        made = f"steelyard-dataprep chunker {CHUNKER_VERSION}, {self.chunk} tokens"
        return made if self.parent is None else f"{made}, read as parents of {self.parent} tokens"
