"""Scores that are asked for once: a study reads the same pairs under several limits, and again at its next call."""

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from steelyard_reranker.backends.port import RerankBackend
from steelyard_reranker.row_fault import RowFault

from ..errors import CacheError


class RememberedBackend:
    """Another backend with its scores kept in `file`, so that what was scored before a kill is not scored again.

    Times of its readings say nothing about the model. Faults are not kept. Raises CacheError.
    """

    def __init__(self, backend: RerankBackend, file: Path) -> None:
        self._backend = backend
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._scores = sqlite3.connect(file)
            self._scores.execute("CREATE TABLE IF NOT EXISTS scores (pair BLOB PRIMARY KEY, score REAL) WITHOUT ROWID")
        except sqlite3.DatabaseError as error:
            raise CacheError(f"{file}: can not be read, remove it: {error}") from error

    @property
    def model_id(self) -> str:
        """See RerankBackend."""
        return self._backend.model_id

    @property
    def revision(self) -> str:
        """See RerankBackend."""
        return self._backend.revision

    @property
    def policy(self) -> dict[str, object]:
        """See RerankBackend."""
        return self._backend.policy

    async def scores(self, query: str, texts: Sequence[str]) -> list[float | RowFault]:
        """See RerankBackend."""
        keys = {text: hashlib.sha256(f"{query}\x00{text}".encode()).digest() for text in texts}
        known: dict[str, float | RowFault] = {}
        for text, key in keys.items():
            row = self._scores.execute("SELECT score FROM scores WHERE pair = ?", (key,)).fetchone()
            if row is not None:
                known[text] = float(row[0])
        new = [text for text in keys if text not in known]
        if new:
            known.update(zip(new, await self._backend.scores(query, new), strict=True))
            with self._scores:
                self._scores.executemany(
                    "INSERT OR REPLACE INTO scores VALUES (?, ?)",
                    [(keys[text], known[text]) for text in new if not isinstance(known[text], RowFault)],
                )
        return [known[text] for text in texts]

    async def probe(self) -> None:
        """See RerankBackend."""
        await self._backend.probe()

    def close(self) -> None:
        """Close the file."""
        self._scores.close()
