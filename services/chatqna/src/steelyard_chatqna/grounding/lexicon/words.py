"""How the lists of this package are written down."""


def words(listed: str) -> frozenset[str]:
    """Return the white-space separated entries of `listed`; lists stay readable, and a duplicate does no harm."""
    return frozenset(listed.split())
