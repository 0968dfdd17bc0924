"""arangosearch views: links, and an index that shows a write only after a commit."""

from typing import TYPE_CHECKING, Any

from tests.arangosim.errors import BAD_PARAMETER, DATA_SOURCE_NOT_FOUND, ArangoError
from tests.arangosim.inverted import Counts, IndexedDocument, indexed

if TYPE_CHECKING:
    from tests.arangosim.state import Database

DEFAULTS: dict[str, Any] = {
    "cleanupIntervalStep": 2,
    "commitIntervalMsec": 1000,
    "consolidationIntervalMsec": 1000,
    "primarySort": [],
    "storedValues": [],
    "writebufferActive": 0,
    "writebufferIdle": 64,
    "writebufferSizeMax": 33554432,
}
IMMUTABLE = ("primarySort", "storedValues")


class View:
    """One view; it commits when `commitIntervalMsec` has passed on the server's clock (0: never), or when told."""

    def __init__(self, name: str, database: "Database", body: dict[str, Any]) -> None:
        if body.get("type") != "arangosearch":
            raise ArangoError(BAD_PARAMETER, f"view type {body.get('type')!r} is unknown to this server")
        self.name = name
        self.id = str(database.server.tick())
        self._database = database
        self.links: dict[str, dict[str, Any]] = {}
        self.properties = DEFAULTS | {key: value for key, value in body.items() if key not in ("name", "type", "links")}
        self._committed: dict[tuple[str, str], IndexedDocument] = {}
        self._counts: Counts | None = None
        self._link(body.get("links") or {})

    def change(self, body: dict[str, Any], *, partial: bool) -> None:
        """New properties; with `partial` what is not named stays. A link set to null is removed. Raises 10, 1203."""
        if not partial:
            self.links = {}
            kept = {key: self.properties[key] for key in IMMUTABLE}
            self.properties = DEFAULTS | kept
        given = {key: value for key, value in body.items() if key not in ("links", *IMMUTABLE)}
        self.properties |= given
        self._link(body.get("links") or {})

    def unlink(self, collection: str) -> None:
        self.links.pop(collection, None)
        self.commit()

    def _link(self, links: dict[str, Any]) -> None:
        if not isinstance(links, dict):
            raise ArangoError(BAD_PARAMETER, f"links is {links!r}")
        for collection, link in links.items():
            if link is not None and not isinstance(link, dict):
                raise ArangoError(BAD_PARAMETER, f"link {collection} is {link!r}")
            if collection not in self._database.collections:
                raise ArangoError(DATA_SOURCE_NOT_FOUND, collection)
            for name in [] if link is None else _analyzer_names(link):
                self._database.analyzers.required(name)
        for collection, link in links.items():
            if link is None:
                self.links.pop(collection, None)
            else:
                self.links[collection] = link
        # Linking indexes what is stored before it returns.
        self.commit(again=True)

    def commit(self, *, again: bool = False) -> None:
        """Make all writes so far searchable; `again` indexes unchanged documents anew."""
        fresh: dict[tuple[str, str], IndexedDocument] = {}
        for collection, link in self.links.items():
            for key, document in self._database.collection(collection).documents.items():
                known = None if again else self._committed.get((collection, key))
                if known is None or known.source is not document:
                    known = indexed(collection, document, link, self._database.analyzers)
                fresh[collection, key] = known
        self._committed = fresh
        self._counts = None
        self._last_commit = self._database.server.clock.now()

    def documents(self) -> list[IndexedDocument]:
        """What is searchable now."""
        interval = self.properties["commitIntervalMsec"] / 1000
        if interval and self._database.server.clock.now() - self._last_commit >= interval:
            self.commit()
        return list(self._committed.values())

    @property
    def counts(self) -> Counts:
        if self._counts is None:
            self._counts = Counts(list(self._committed.values()))
        return self._counts

    def uses(self, analyzer: str) -> bool:
        used = {name for link in self.links.values() for name in _analyzer_names(link)}
        return any(self._database.analyzers.required(name).name == analyzer for name in used)

    def head(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name, "type": "arangosearch", "globallyUniqueId": f"h{self.id}/{self.id}"}

    def body(self) -> dict[str, Any]:
        defaults = {"analyzers": ["identity"], "fields": {}, "includeAllFields": False, "trackListPositions": False}
        links = {name: defaults | {"storeValues": "none"} | link for name, link in self.links.items()}
        return self.properties | {"links": links} | self.head()


def _analyzer_names(link: dict[str, Any]) -> list[str]:
    names = list(link.get("analyzers") or [])
    for inner in (link.get("fields") or {}).values():
        names += _analyzer_names(inner)
    return names
