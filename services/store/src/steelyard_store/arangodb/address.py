"""Where an ArangoDB store is, and the names of everything that belongs to it there."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ArangoAddress:
    """One store: a graph in a database that any of the coordinators serves.

    Attributes:
        urls: base URLs of the server, or of the coordinators of a cluster, in order of preference.
        graph: the beginning of all names; several stores can share a database.
        username: empty when ``password`` is an access token.
        n_probe: lists that an approximate vector search looks into; None chooses by the number of lists.
        memory_limit_bytes: what one query may use on the server.
        timeout_s: longest time for a call whose caller has no deadline of its own.
    """

    urls: tuple[str, ...]
    database: str
    username: str
    password: str = field(repr=False)
    graph: str = "STEELYARD"
    n_probe: int | None = None
    memory_limit_bytes: int = 512 * 2**20
    timeout_s: float = 30.0

    def __str__(self) -> str:
        return f"{','.join(self.urls)} database {self.database} graph {self.graph}"

    @property
    def meta(self) -> str:
        """Collection with the one record that says what the store holds."""
        return f"{self.graph}_META"

    @property
    def documents(self) -> str:
        """Vertex collection of the documents; each row points at its visible publication."""
        return f"{self.graph}_DOCUMENT"

    @property
    def sections(self) -> str:
        """Vertex collection of the sections."""
        return f"{self.graph}_SECTION"

    @property
    def chunks(self) -> str:
        """Vertex collection of the chunks."""
        return f"{self.graph}_SOURCE"

    @property
    def has_child(self) -> str:
        """Edge collection: document to section, section to chunk, document to chunk without a section."""
        return f"{self.graph}_HAS_CHILD"

    @property
    def view(self) -> str:
        """The arangosearch view over the chunks' terms."""
        return f"{self.graph}_SEARCH"

    @property
    def analyzer(self) -> str:
        """The analyzer of the prepared terms."""
        return f"{self.graph}_TERMS"

    @property
    def publication_parts(self) -> tuple[str, str, str]:
        """The collections whose rows belong to one publication of a document."""
        return self.has_child, self.sections, self.chunks
