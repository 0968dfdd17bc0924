"""English stemming by SQLite's Porter tokenizer.

ArangoDB stems with Snowball in many languages; here only English is stemmed, other locales keep their words.
"""

import sqlite3
import threading
from functools import lru_cache

_local = threading.local()


def _connection() -> sqlite3.Connection:
    if not hasattr(_local, "connection"):
        connection = sqlite3.connect(":memory:")
        connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5(word, tokenize = 'porter unicode61 remove_diacritics 0')"
        )
        connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(words, row)")
        _local.connection = connection
    return _local.connection  # type: ignore[no-any-return]


@lru_cache(maxsize=65536)
def stem(word: str, locale: str) -> str:
    """The word's stem; unchanged for a locale other than English and for what is not one ASCII word."""
    if not locale.lower().startswith("en") or not word.isascii() or not word.isalpha():
        return word
    connection = _connection()
    connection.execute("DELETE FROM words")
    connection.execute("INSERT INTO words VALUES (?)", (word,))
    row = connection.execute("SELECT term FROM stems").fetchone()
    return word if row is None else str(row[0])
