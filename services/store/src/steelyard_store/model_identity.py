"""Which embedding model made the vectors of a store."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """The embedding model whose vectors a store holds; vectors of two models are never mixed."""

    model_id: str
    revision: str
    dimension: int

    def __str__(self) -> str:
        return f"{self.model_id}@{self.revision} ({self.dimension} dimensions)"
