"""The port to whatever retrieves candidates for a manifest."""

from typing import NamedTuple, Protocol

from steelyard_contracts.vectors import Vector

from ..manifest import FrozenCandidate, ModelIdentity


class Retrieved(NamedTuple):
    """The query's vector, and its candidates in retrieved order, each with its embedding."""

    embedding: Vector
    candidates: list[FrozenCandidate]


class Snapshot(Protocol):
    """A collection as it is now. `preprocessing` names what made chunks of documents, with its version."""

    preprocessing: str

    @property
    def embedding_model(self) -> ModelIdentity:
        """The model of the vectors."""

    def retrieve(self, query: str, count: int) -> Retrieved:
        """The nearest `count` candidates."""

    def corpus_revision(self) -> str:
        """What changes when the collection, as far as it was looked at, does."""
