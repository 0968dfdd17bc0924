"""The ArangoDB store's writes behind the asynchronous port: the synchronous driver never runs on the event loop."""

from __future__ import annotations

from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.writing import ArangoWriting
from steelyard_store.threaded_writer import ThreadedWriter


class ArangoWriter(ThreadedWriter):
    """``ChunkWriter`` over a graph of an ArangoDB server or cluster; a call that was begun finishes even if cancelled.

    Args:
        address: where the store is.
    """

    def __init__(self, address: ArangoAddress) -> None:
        super().__init__(ArangoWriting(address), str(address))
