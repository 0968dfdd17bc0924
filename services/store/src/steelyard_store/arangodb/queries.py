"""The AQL of every read. Values and collection names are bound; no caller's text ever becomes query text.

Each query returns one object: the store's own record beside the rows, so that what was found and the model it was
found for are of one state, in one request. A chunk is visible when its publication is the one that its document points
at (docs/adr/0014), and each query joins the two before any cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.rows import CHUNK_FIELDS, NODE_FIELDS, SUMMARY_FIELDS, document_key, hexed
from steelyard_store.records import Filter
from steelyard_store.terms import HEADING_WEIGHT

META_KEY = "store"
_META = 'LET meta = FIRST(FOR m IN @@meta FILTER m._key == "store" RETURN m)\n'


def _object(variable: str, fields: Iterable[str]) -> str:
    return "{" + ", ".join(f"{field}: {variable}.{field}" for field in fields) + "}"


_CHUNK = _object("c", CHUNK_FIELDS)
_NODE = _object("n", NODE_FIELDS)
_SUMMARY = _object("d", (*SUMMARY_FIELDS, "chunk_count"))

CHECK = (
    _META
    + """
LET counts = FIRST(
  FOR d IN @@documents
    COLLECT AGGREGATE generation = SUM(d.generation), chunks = SUM(d.chunk_count),
      documents = SUM(d.publication == null ? 0 : 1)
    RETURN {generation, chunks, documents}
)
LET reachable = (FOR c IN @@chunks LIMIT 1 RETURN 1)
LET outlined = (FOR n IN @@sections LIMIT 1 RETURN 1)
LET searchable = (FOR c IN @@view LIMIT 1 RETURN 1)
RETURN {meta, counts, rows: [LENGTH(reachable), LENGTH(outlined), LENGTH(searchable)]}
"""
)


def check_binds(address: ArangoAddress) -> dict[str, Any]:
    """What ``CHECK`` binds."""
    return {
        "@meta": address.meta,
        "@documents": address.documents,
        "@chunks": address.chunks,
        "@sections": address.sections,
        "@view": address.view,
    }


class Conditions:
    """A filter in AQL: conditions on a document ``d`` and on its chunk ``c``, and their bound values.

    Both are asked, although a publication gives both the same names: what one row says wrongly, the other refuses.
    """

    def __init__(self, address: ArangoAddress, filter: Filter) -> None:  # noqa: A002  the port's word
        self.binds: dict[str, Any] = {
            "@meta": address.meta,
            "@documents": address.documents,
            "scopes": sorted(map(hexed, filter.scopes)),
        }
        on_document = ["d.publication != null", "d.scope_hex IN @scopes"]
        self._on_part = ["{}.scope_hex IN @scopes"]
        if filter.document_ids is not None:
            self.binds["document_keys"] = sorted(map(document_key, filter.document_ids))
            on_document.append("d._key IN @document_keys")
            self._on_part.append("{}.document_key IN @document_keys")
        if filter.sources is not None:
            self.binds["sources"] = sorted(map(hexed, filter.sources))
            on_document.append("d.source_hex IN @sources")
            self._on_part.append("{}.source_hex IN @sources")
        self.on_document = " AND ".join(on_document)
        self.on_chunk = self.on("c")

    def on(self, part: str) -> str:
        """Conditions on the variable ``part``, a chunk or a node of a document's tree."""
        return " AND ".join(condition.format(part) for condition in self._on_part)

    @property
    def from_documents(self) -> str:
        """Loops over the visible chunks ``c`` of the documents ``d`` that pass."""
        return (
            f"FOR d IN @@documents FILTER {self.on_document}\n"
            f"FOR c IN @@chunks FILTER c.publication == d.publication AND {self.on_chunk}"
        )

    def owner_of(self, chunk: str) -> str:
        """Loop over the document ``d`` of the row ``chunk``: empty when that one does not pass or is not visible."""
        return (
            f"FOR d IN @@documents FILTER d._key == {chunk}.document_key AND d.publication == {chunk}.publication "
            f"AND {self.on_document}"
        )


def exact_vector_search(conditions: Conditions) -> str:
    """Binds ``query``, ``k`` and ``@chunks``: all visible chunks are compared."""
    return f"""{_META}
LET rows = (
  {conditions.from_documents}
    LET score = COSINE_SIMILARITY(c.embedding, @query)
    SORT score DESC, c.id_hex
    LIMIT @k
    RETURN {{score, chunk: {_CHUNK}}}
)
RETURN {{meta, rows}}
"""


def approximate_vector_search(conditions: Conditions) -> str:
    """Binds ``query``, ``fetch``, ``n_probe`` and ``@chunks``.

    One FILTER stands before SORT and LIMIT, and nothing sorts a second time: with anything else the server refuses to
    use the vector index (error 1554). Superseded chunks can only be left out behind the cut, hence ``examined``. The
    scores are computed anew, so that they are those of the exact search.
    """
    return f"""{_META}
LET nearest = (
  FOR c IN @@chunks
    FILTER {conditions.on_chunk}
    SORT APPROX_NEAR_COSINE(c.embedding, @query, {{nProbe: @n_probe}}) DESC
    LIMIT @fetch
    RETURN {{
      score: COSINE_SIMILARITY(c.embedding, @query), chunk: {_CHUNK},
      document_key: c.document_key, publication: c.publication
    }}
)
LET rows = (
  FOR near IN nearest
    {conditions.owner_of("near")}
    RETURN {{score: near.score, chunk: near.chunk}}
)
RETURN {{meta, rows, examined: LENGTH(nearest)}}
"""


def lexical_search(conditions: Conditions) -> str:
    """Binds ``terms``, ``analyzer``, ``k`` and ``@view``; the filter is outside of SEARCH, where it would score."""
    return f"""{_META}
LET rows = (
  FOR c IN @@view
    SEARCH ANALYZER(c.body IN @terms OR BOOST(c.heading IN @terms, {HEADING_WEIGHT}), @analyzer)
    LET score = BM25(c)
    FILTER {conditions.on_chunk}
    {conditions.owner_of("c")}
    SORT score DESC, c.id_hex
    LIMIT @k
    RETURN {{score, chunk: {_CHUNK}}}
)
RETURN {{meta, rows}}
"""


def tree_search(conditions: Conditions) -> str:
    """Binds ``query``, ``k``, ``@chunks`` and ``@sections``; documents without a tree take part with their chunks.

    All visible nodes are compared: there are a few for each document. That a document has a tree is asked of its row,
    before any node is looked at, because sections that were written without one have no vector to compare.
    """
    return f"""{_META}
LET reachable = (FOR n IN @@sections LIMIT 1 RETURN 1)
LET nodes = (
  FOR d IN @@documents FILTER {conditions.on_document} AND d.has_tree == true
  FOR n IN @@sections FILTER n.publication == d.publication AND {conditions.on("n")}
    LET score = COSINE_SIMILARITY(n.embedding, @query)
    SORT score DESC, n.id_hex
    LIMIT @k
    RETURN {{score, node: {_NODE}}}
)
LET chunks = (
  FOR d IN @@documents FILTER {conditions.on_document} AND d.has_tree != true
  FOR c IN @@chunks FILTER c.publication == d.publication AND {conditions.on_chunk}
    LET score = COSINE_SIMILARITY(c.embedding, @query)
    SORT score DESC, c.id_hex
    LIMIT @k
    RETURN {{score, chunk: {_CHUNK}}}
)
RETURN {{meta, rows: APPEND(nodes, chunks), reachable: LENGTH(reachable)}}
"""


def tree_children(conditions: Conditions) -> str:
    """Binds ``ids`` (hexadecimal), ``query``, ``k``, ``@sections``, ``@chunks`` and ``graph``.

    Every vertex is asked for its scope. The chunks are named although only the graph leads to them, so that their
    collection is missed when it is not there.
    """
    return f"""{_META}
LET reachable = (FOR c IN @@chunks LIMIT 1 RETURN 1)
LET rows = (
  FOR id IN @ids
    FOR p IN @@sections FILTER p.id_hex == id AND {conditions.on("p")}
      {conditions.owner_of("p")}
      FOR v IN 1..1 OUTBOUND p GRAPH @graph
        FILTER v.publication == d.publication AND {conditions.on("v")}
        LET score = COSINE_SIMILARITY(v.embedding, @query)
        SORT score DESC, v.id_hex
        LIMIT @k
        RETURN {{
          score,
          node: v.node_id == null ? null : {_object("v", NODE_FIELDS)},
          chunk: v.chunk_id == null ? null : {_object("v", CHUNK_FIELDS)}
        }}
)
RETURN {{meta, rows, reachable: LENGTH(reachable)}}
"""


def by_chunk_id(conditions: Conditions, returned: str) -> str:
    """Binds ``ids`` (hexadecimal) and ``@chunks``; rows in the order of ``ids``."""
    return f"""{_META}
LET rows = (
  FOR id IN @ids
    FOR c IN @@chunks FILTER c.id_hex == id AND {conditions.on_chunk}
      {conditions.owner_of("c")}
      RETURN {returned}
)
RETURN {{meta, rows}}
"""


RETURN_CHUNK = _CHUNK
RETURN_EMBEDDING = "{chunk_id: c.chunk_id, embedding: c.embedding}"
RETURN_COSINE = "{chunk_id: c.chunk_id, score: COSINE_SIMILARITY(c.embedding, @query)}"


def one_document(conditions: Conditions) -> str:
    """Binds ``key``."""
    return f"""{_META}
LET rows = (
  FOR d IN @@documents FILTER d._key == @key AND {conditions.on_document}
    RETURN MERGE({_SUMMARY}, {{text: d.text}})
)
RETURN {{meta, rows}}
"""


def document_window(conditions: Conditions) -> str:
    """Binds ``key``, ``first``, ``last`` and ``@chunks``."""
    return f"""{_META}
LET rows = (
  FOR d IN @@documents FILTER d._key == @key AND {conditions.on_document}
    FOR c IN @@chunks
      FILTER c.publication == d.publication AND c.ordinal >= @first AND c.ordinal <= @last AND {conditions.on_chunk}
      SORT c.ordinal
      RETURN {_CHUNK}
)
RETURN {{meta, rows}}
"""


def document_page(conditions: Conditions) -> str:
    """Binds ``source`` and ``id`` (hexadecimal) of the place behind which the page begins, and ``limit``."""
    return f"""{_META}
LET rows = (
  FOR d IN @@documents
    FILTER (d.source_hex > @source OR (d.source_hex == @source AND d.id_hex > @id)) AND {conditions.on_document}
    SORT d.source_hex, d.id_hex
    LIMIT @limit
    RETURN {_SUMMARY}
)
RETURN {{meta, rows}}
"""
