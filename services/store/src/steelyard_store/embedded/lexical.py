"""BM25 over the prepared terms, inside a transaction of the caller."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from steelyard_store.embedded.rows import where
from steelyard_store.embedded.schema import Meta
from steelyard_store.records import Filter
from steelyard_store.terms import MAX_QUERY_TERMS, query_terms

MAX_SCORED_TERMS = 64
_HEADING_WEIGHT = 0.5  # a word in the title says less about a chunk than the same word in its text
_MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class _Statistics:
    """Counts of one generation of the store; ``frequencies`` is filled as terms are asked for."""

    meta: Meta
    chunks: int
    frequencies: dict[str, int]


class LexicalSearch:
    """Ranks chunks for the words of a query; safe to use from several threads."""

    def __init__(self) -> None:
        self._known: _Statistics | None = None

    def top(
        self,
        connection: sqlite3.Connection,
        meta: Meta,
        text: str,
        k: int,
        filter: Filter,  # noqa: A002  the port's word
    ) -> list[tuple[int, float]]:
        """Return ``(row_id, score)`` of the ``k`` best chunks that pass ``filter``; ties by ascending chunk id.

        Considers the first ``MAX_QUERY_TERMS`` distinct terms of ``text`` and scores the ``MAX_SCORED_TERMS`` rarest
        of them, which carry the most weight. FTS5's BM25 gives a term that stands in more than half of the chunks the
        weight 0.000001 (its inverse document frequency would be negative), yet would score every chunk that has it;
        such terms only take part when the others do not fill the ``k`` places.
        """
        terms = query_terms(text, MAX_QUERY_TERMS)
        statistics = self._statistics(connection, meta, terms)
        present = [term for term in terms if statistics.frequencies[term] > 0]
        scored = sorted(present, key=statistics.frequencies.__getitem__)[:MAX_SCORED_TERMS]
        selective = [term for term in scored if 2 * statistics.frequencies[term] <= statistics.chunks]
        best = _ranked(connection, selective, k, filter)
        if len(best) < k and len(selective) < len(scored):
            best = _ranked(connection, scored, k, filter)
        return best

    def _statistics(self, connection: sqlite3.Connection, meta: Meta, terms: list[str]) -> _Statistics:
        known = self._known
        if known is None or known.meta != meta or len(known.frequencies) > _MOST_REMEMBERED:
            # A new object, not a cleared one: another thread may be filling the old one for its own generation.
            (chunks,) = connection.execute("SELECT count(*) FROM chunk").fetchone()
            known = self._known = _Statistics(meta, chunks, {})
        for term in terms:
            if term not in known.frequencies:
                row = connection.execute("SELECT doc FROM lexical_vocabulary WHERE term = ?", (term,)).fetchone()
                known.frequencies[term] = 0 if row is None else row[0]
        return known


def match_expression(terms: list[str]) -> str:
    """Return the FTS5 expression for "any of these terms"; each is quoted, so nothing in it is syntax."""
    return " OR ".join(f'"{term}"' for term in terms)


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
