"""The ArangoDB store: a graph of documents, sections and chunks on one server or a cluster."""

from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.reader import ArangoReader
from steelyard_store.arangodb.writer import ArangoWriter

__all__ = ["ArangoAddress", "ArangoReader", "ArangoWriter"]
