"""The data sets' names as their authors write them."""

_TITLES = {"hotpotqa": "HotpotQA", "musique": "MuSiQue"}


def title_of(collection: str) -> str:
    """The name for a reader."""
    return _TITLES.get(collection, collection)
