"""What differs between the server versions that this server can play."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Version:
    """A 3.12 release, `3.12.4` and later."""

    text: str

    def __post_init__(self) -> None:
        if self._numbers() < (3, 12, 4):
            raise ValueError(f"version {self.text} is older than 3.12.4, the first with vector indexes")

    def _numbers(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.text.split("."))

    def since(self, text: str) -> bool:
        return self._numbers() >= Version(text)._numbers()

    @property
    def vector_flag(self) -> str:
        """The start option without which vector indexes cannot be created."""
        return "--vector-index" if self.since("3.12.6") else "--experimental-vector-index"

    @property
    def filtered_vector_search(self) -> bool:
        """One FILTER may stand between FOR and the approximate SORT."""
        return self.since("3.12.6")

    @property
    def inner_product(self) -> bool:
        return self.since("3.12.6")

    @property
    def stored_values(self) -> bool:
        return self.since("3.12.7")

    @property
    def untrained_vector_index(self) -> bool:
        """A vector index can be created before its data; searching it is error 1555 instead of 1554."""
        return self.since("3.12.9")

    @property
    def sparse_update_bug(self) -> bool:
        """Updates of documents without the vector attribute fail although the index is sparse (arangodb#22568)."""
        return not self.since("3.12.9")
