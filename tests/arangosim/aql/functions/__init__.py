"""AQL functions; importing the package fills the registry."""

from tests.arangosim.aql.functions import arrays, documents, numbers, search, strings, types, vectors

__all__ = ["arrays", "documents", "numbers", "search", "strings", "types", "vectors"]
