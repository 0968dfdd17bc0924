"""BM25 over the prepared terms, inside a transaction of the caller."""

from __future__ import annotations

import sqlite3

from steelyard_store.embedded.rows import where
from steelyard_store.embedded.schema import Meta
from steelyard_store.embedded.terms import match_expression, query_terms
from steelyard_store.records import Filter

MAX_QUERY_TERMS = 256
_HEADING_WEIGHT = 0.5  # a word in the title says less about a chunk than the same word in its text
_MOST_REMEMBERED = 10_000


class LexicalSearch:
    """Ranks chunks for the words of a query; safe to use from several threads."""

    def __init__(self) -> None:
        self._known: tuple[Meta, dict[str, bool]] | None = None

    def top(
        self,
        connection: sqlite3.Connection,
        meta: Meta,
        text: str,
        k: int,
        filter: Filter,  # noqa: A002  the port's word
    ) -> list[tuple[int, float]]:
        """Return ``(row_id, score)`` of the ``k`` best chunks that pass ``filter``; ties by ascending chunk id.

        Uses at most ``MAX_QUERY_TERMS`` distinct terms of ``text``. FTS5's BM25 gives a term that stands in more than
        half of the chunks the weight 0.000001 (its inverse document frequency would be negative), yet would score
        every chunk that has it. Such terms only take part when the others do not fill the ``k`` places.
        """
        wanted = query_terms(text, MAX_QUERY_TERMS)
        selective = self._without_common(connection, meta, wanted)
        best = _ranked(connection, selective, k, filter)
        if len(best) < k and len(selective) < len(wanted):
            best = _ranked(connection, wanted, k, filter)
        return best

    def _without_common(self, connection: sqlite3.Connection, meta: Meta, terms: list[str]) -> list[str]:
        known = self._known
        if known is None or known[0] != meta or len(known[1]) > _MOST_REMEMBERED:
            # A new dictionary, not a cleared one: another thread may be filling the old one for its generation.
            known = self._known = (meta, {})
        common = known[1]
        unknown = [term for term in terms if term not in common]
        if unknown:
            (chunks,) = connection.execute("SELECT count(*) FROM chunk").fetchone()
            for term in unknown:
                found = connection.execute("SELECT doc FROM lexical_vocabulary WHERE term = ?", (term,)).fetchone()
                common[term] = found is not None and 2 * found[0] > chunks
        return [term for term in terms if not common[term]]


def _ranked(
    connection: sqlite3.Connection,
    terms: list[str],
    k: int,
    filter: Filter,  # noqa: A002
) -> list[tuple[int, float]]:
    if not terms:
        return []
    conditions, values = where("c", filter)
    # FTS5's bm25() is negative and lower is better; the port's scores are positive and higher is better.
    return connection.execute(
        f"SELECT c.row_id, -bm25(lexical, 1.0, {_HEADING_WEIGHT}) AS score "  # noqa: S608  no caller's text
        f"FROM lexical JOIN chunk AS c ON c.row_id = lexical.rowid WHERE lexical MATCH ? AND {conditions} "
        "ORDER BY score DESC, c.chunk_id LIMIT ?",
        (match_expression(terms), *values, k),
    ).fetchall()
