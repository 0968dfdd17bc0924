"""BM25 over the prepared terms, inside a transaction of the caller.

FTS5 finds the rows. It does not score them: its ``bm25()`` counts words over the whole table, so that a score, and
with it an order, would tell of texts in scopes that the caller may not see. Here words are counted within the scopes
of the filter, and nothing outside of them takes part.
"""

from __future__ import annotations

import itertools
import math
import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard_store.embedded import rows
from steelyard_store.embedded.schema import Meta
from steelyard_store.records import Filter
from steelyard_store.terms import HEADING_WEIGHT, query_terms

# ruff: noqa: A002  `filter` is the port's word for this argument.

MAX_COUNTED_TERMS = 256
MAX_SCORED_TERMS = 64
_SATURATION = 1.2  # k1 and b of Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), section 3.5
_LENGTH_WEIGHT = 0.75
_LEAST_WEIGHT = 1e-6  # of a word in more than half of the chunks, whose inverse document frequency is not positive
_MOST_REMEMBERED = 10_000
_SCOPES_REMEMBERED = 32


@dataclass(frozen=True, slots=True)
class _Statistics:
    """Counts over some scopes in one generation of the store; ``frequencies`` is filled as terms are asked for.

    Attributes:
        everything: whether no chunk is outside of the scopes.
    """

    chunks: int
    everything: bool
    frequencies: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Known:
    """What has been counted in one generation of the store, by scopes."""

    meta: Meta
    statistics: OrderedDict[frozenset[str], _Statistics]


@dataclass(frozen=True, slots=True)
class _Postings:
    """Where one term stands: row ids, ascending and each once, and how often, weighted by column."""

    row_ids: NDArray[np.int64]
    counts: NDArray[np.float64]
    tokens: NDArray[np.int64]


class LexicalSearch:
    """Ranks chunks for the words of a query; safe to use from several threads."""

    def __init__(self) -> None:
        self._known: _Known | None = None

    def top(
        self, connection: sqlite3.Connection, meta: Meta, text: str, k: int, filter: Filter
    ) -> list[tuple[int, float]]:
        """Return ``(row_id, score)`` of the ``k`` best chunks that pass ``filter``; ties by ascending chunk id.

        Considers the first ``MAX_COUNTED_TERMS`` distinct terms of ``text`` and scores the ``MAX_SCORED_TERMS`` rarest
        of them, which carry the most weight. A term that stands in more than half of the chunks weighs nothing, yet
        every chunk that has it would be scored; such terms only take part when the others do not fill the ``k`` places.
        """
        terms = query_terms(text, MAX_COUNTED_TERMS)
        statistics = self._statistics(connection, meta, terms, filter.scopes)
        present = [term for term in terms if statistics.frequencies[term] > 0]
        scored = sorted(present, key=statistics.frequencies.__getitem__)[:MAX_SCORED_TERMS]
        selective = [term for term in scored if 2 * statistics.frequencies[term] <= statistics.chunks]
        best = _ranked(connection, selective, statistics, k, filter)
        if len(best) < k and len(selective) < len(scored):
            best = _ranked(connection, scored, statistics, k, filter)
        return best

    def _statistics(
        self, connection: sqlite3.Connection, meta: Meta, terms: Sequence[str], scopes: frozenset[str]
    ) -> _Statistics:
        known = self._known
        if known is None or known.meta != meta:
            # A new object, not a cleared one: another thread may be filling the old one for its own generation.
            known = self._known = _Known(meta, OrderedDict())
        statistics = known.statistics.get(scopes)
        if statistics is None or len(statistics.frequencies) > _MOST_REMEMBERED:
            statistics = known.statistics[scopes] = _counted(connection, scopes)
            if len(known.statistics) > _SCOPES_REMEMBERED:
                known.statistics.popitem(last=False)
        for term in terms:
            if term not in statistics.frequencies:
                statistics.frequencies[term] = _frequency(connection, term, scopes, statistics)
        return statistics


def match_expression(term: str) -> str:
    """Return the FTS5 expression for a term; it is quoted, so nothing in it is syntax."""
    return f'"{term}"'


def _counted(connection: sqlite3.Connection, scopes: frozenset[str]) -> _Statistics:
    condition, values = rows.where("d", Filter(scopes))
    ((inside, outside),) = connection.execute(
        f"SELECT ifnull(sum(d.chunk_count) FILTER (WHERE {condition}), 0), "  # noqa: S608  no caller's text
        f"ifnull(sum(d.chunk_count) FILTER (WHERE NOT ({condition})), 0) FROM document AS d",
        (*values, *values),
    )
    return _Statistics(inside, outside == 0, {})


def _frequency(connection: sqlite3.Connection, term: str, scopes: frozenset[str], statistics: _Statistics) -> int:
    """In how many chunks of ``scopes`` the term stands."""
    row = connection.execute("SELECT doc FROM lexical_vocabulary WHERE term = ?", (term,)).fetchone()
    if row is None:
        return 0
    if statistics.everything:
        return int(row[0])
    condition, values = rows.where("c", Filter(scopes))
    (found,) = connection.execute(
        "SELECT count(*) FROM lexical CROSS JOIN chunk AS c ON c.row_id = lexical.rowid "  # noqa: S608  no caller's text
        f"WHERE lexical MATCH ? AND {condition}",
        (match_expression(term), *values),
    ).fetchone()
    return int(found)


def _ranked(
    connection: sqlite3.Connection, terms: Sequence[str], statistics: _Statistics, k: int, filter: Filter
) -> list[tuple[int, float]]:
    postings = [_postings(connection, term, filter) for term in terms]
    row_ids = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(one.row_ids for one in postings)]))
    if row_ids.size == 0:
        return []
    places = [np.searchsorted(row_ids, one.row_ids) for one in postings]
    tokens = np.zeros(row_ids.size, dtype=np.int64)
    for one, at in zip(postings, places, strict=True):
        tokens[at] = one.tokens
    # Relative to the chunks that have one of the words: the mean of a scope would have to be read from all its chunks.
    lengths = tokens / max(1.0, float(tokens.mean()))
    scores = np.zeros(row_ids.size)
    for term, one, at in zip(terms, postings, places, strict=True):
        saturated = one.counts + _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * lengths[at])
        scores[at] += _weight(term, statistics) * (_SATURATION + 1) * one.counts / saturated
    if row_ids.size > k:
        among = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
        row_ids, scores = row_ids[among], scores[among]
    names = dict(
        connection.execute(
            "SELECT c.row_id, c.chunk_id FROM json_each(?) AS wanted JOIN chunk AS c ON c.row_id = wanted.value",
            (str(row_ids.tolist()),),
        ).fetchall()
    )
    best = sorted(zip(row_ids.tolist(), scores.tolist(), strict=True), key=lambda one: (-one[1], names[one[0]]))
    return best[:k]


def _postings(connection: sqlite3.Connection, term: str, filter: Filter) -> _Postings:
    conditions, values = rows.where("c", filter)
    found = connection.execute(
        "SELECT i.doc, i.col = 'heading', c.tokens "  # noqa: S608  no caller's text
        "FROM lexical_instance AS i CROSS JOIN chunk AS c ON c.row_id = i.doc "
        f"WHERE i.term = ? AND {conditions}",
        (term, *values),
    )
    instances = np.fromiter(itertools.chain.from_iterable(found), dtype=np.int64).reshape(-1, 3)
    row_ids, first, inverse = np.unique(instances[:, 0], return_index=True, return_inverse=True)
    weights = np.where(instances[:, 1] == 1, HEADING_WEIGHT, 1.0)
    counts = np.bincount(inverse, weights, minlength=row_ids.size).astype(np.float64)
    return _Postings(row_ids, counts, instances[first, 2])


def _weight(term: str, statistics: _Statistics) -> float:
    """The term's inverse document frequency."""
    found = statistics.frequencies[term]
    return max(_LEAST_WEIGHT, math.log((statistics.chunks - found + 0.5) / (found + 0.5)))
