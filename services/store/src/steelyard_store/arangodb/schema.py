"""Collections, graph, indexes, analyzer and view of a store: how they are created."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from arango.database import StandardDatabase
from arango.exceptions import ArangoServerError

from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.faults import ALREADY_THERE, error_number
from steelyard_store.arangodb.meta import Meta, meta_from, meta_row
from steelyard_store.arangodb.queries import META_KEY
from steelyard_store.arangodb.write_session import SYSTEM_DATABASE, WriteSession
from steelyard_store.errors import StoreNotInitialised
from steelyard_store.model_identity import ModelIdentity

_READ_META = "FOR m IN @@meta FILTER m._key == @key RETURN m"


def read_meta(session: WriteSession, address: ArangoAddress) -> Meta:
    """Read the store's own record.

    Raises:
        StoreNotInitialised, SchemaMismatch, StoreUnavailable
    """
    rows = session.rows(_READ_META, {"@meta": address.meta, "key": META_KEY})
    return meta_from(address, rows[0] if rows else None)


def create_schema(session: WriteSession, address: ArangoAddress, model: ModelIdentity) -> Meta:
    """Create whatever is missing of the store for ``model``, its record last; safe to repeat and to run twice at once.

    Raises:
        ModelMismatch: the store was created for another model; nothing is changed.
        SchemaMismatch, StoreUnavailable
    """
    try:
        meta = read_meta(session, address)
    except StoreNotInitialised:
        _create_database(session, address)
        complete_schema(session, address)
        session.call(partial(_meta_record, address, model))
        meta = read_meta(session, address)
    meta.check_model(model)
    return meta


def complete_schema(session: WriteSession, address: ArangoAddress) -> None:
    """Create what is missing beside the store's record.

    Raises:
        StoreUnavailable, StoreError
    """
    for create in (_graph, _meta_collection, _indexes, _analyzer, _view):
        session.call(partial(create, address))


def _create_database(session: WriteSession, address: ArangoAddress) -> None:
    try:
        session.rows("RETURN 1", {})
    except StoreNotInitialised:
        session.call(partial(_database, address), SYSTEM_DATABASE)


def _database(address: ArangoAddress, system: StandardDatabase) -> None:
    # In a cluster, all collections of the database then live on one DB-Server, where a query sees one snapshot.
    _once(system.create_database, address.database, sharding="single")


def _graph(address: ArangoAddress, database: StandardDatabase) -> None:
    edges = {
        "edge_collection": address.has_child,
        "from_vertex_collections": [address.documents, address.sections],
        "to_vertex_collections": [address.sections, address.chunks],
    }
    _once(database.create_graph, address.graph, edge_definitions=[edges])


def _meta_collection(address: ArangoAddress, database: StandardDatabase) -> None:
    _once(database.create_collection, address.meta)


def _indexes(address: ArangoAddress, database: StandardDatabase) -> None:
    documents = [["id_hex"], ["scope_hex", "source_hex"]]
    chunks = [["id_hex"], ["document_key"], ["publication", "ordinal"]]
    tree = [["document_key"], ["publication"]]
    for collection, indexes in (
        (address.documents, documents),
        (address.chunks, chunks),
        (address.sections, [["id_hex"], *tree]),
        (address.has_child, tree),
    ):
        for fields in indexes:
            name = "_".join(fields)
            _once(database.collection(collection).add_index, {"type": "persistent", "fields": fields, "name": name})


def _analyzer(address: ArangoAddress, database: StandardDatabase) -> None:
    properties = {"delimiter": " "}
    _once(database.create_analyzer, address.analyzer, "delimiter", properties, features=["frequency", "norm"])


def _view(address: ArangoAddress, database: StandardDatabase) -> None:
    terms = {"analyzers": [address.analyzer]}
    fields = {"body": terms, "heading": terms, "publication": {"analyzers": ["identity"]}}
    links = {address.chunks: {"fields": fields, "includeAllFields": False}}
    _once(database.create_arangosearch_view, address.view, {"links": links})


def _meta_record(address: ArangoAddress, model: ModelIdentity, database: StandardDatabase) -> None:
    _once(database.collection(address.meta).insert, meta_row(model), sync=True)


def _once(create: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Create what may have been created meanwhile, or in an attempt that did not end."""
    try:
        create(*arguments, **options)
    except ArangoServerError as cause:
        if error_number(cause) not in ALREADY_THERE:
            raise
