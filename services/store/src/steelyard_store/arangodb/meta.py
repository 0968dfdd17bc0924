"""The store's own record: which schema and which model its rows are of."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.arangodb.queries import META_KEY
from steelyard_store.errors import ModelMismatch, SchemaMismatch, StoreNotInitialised
from steelyard_store.model_identity import ModelIdentity
from steelyard_store.records import StoreInfo

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Meta:
    """The record as it was read.

    Attributes:
        vector_lists: lists of the vector index that ``steelyard store migrate`` built; without one searches are exact.
    """

    model: ModelIdentity
    vector_lists: int | None

    def check_model(self, given: ModelIdentity | None) -> None:
        """Refuse to mix vectors of two models; None accepts any.

        Raises:
            ModelMismatch: naming both.
        """
        if given is not None and given != self.model:
            raise ModelMismatch(self.model, given)


def meta_row(model: ModelIdentity) -> dict[str, Any]:
    """The record of a new store."""
    return {
        "_key": META_KEY,
        "store_id": uuid.uuid4().hex,
        "schema_version": SCHEMA_VERSION,
        "model_id": model.model_id,
        "model_revision": model.revision,
        "dimension": model.dimension,
        "vector_lists": None,
    }


def meta_from(address: ArangoAddress, row: Mapping[str, Any] | None) -> Meta:
    """Read the record.

    Raises:
        StoreNotInitialised: there is none; collections without it are a creation that did not end.
        SchemaMismatch: it is of another schema version.
    """
    if row is None:
        raise StoreNotInitialised(f"store {address}: it has not been initialised")
    version = row.get("schema_version")
    if version != SCHEMA_VERSION:
        raise SchemaMismatch(
            f"store {address} has schema version {version}, this release reads {SCHEMA_VERSION}: "
            "run `steelyard store migrate` of a release that knows both"
        )
    model = ModelIdentity(row["model_id"], row["model_revision"], row["dimension"])
    return Meta(model, row["vector_lists"])


def store_info(address: ArangoAddress, reply: Mapping[str, Any], fallback: str | None = None) -> StoreInfo:
    """Describe the store from the reply to ``queries.CHECK``; ``fallback`` is why searches are exact for now."""
    meta = meta_from(address, reply["meta"])
    counts = reply["counts"]
    return StoreInfo(
        store="arangodb",
        location=str(address),
        schema_version=SCHEMA_VERSION,
        model=meta.model,
        generation=counts["generation"] or 0,  # the sum of nothing is null
        documents=counts["documents"] or 0,
        chunks=counts["chunks"] or 0,
        vector_search="approximate" if meta.vector_lists is not None and fallback is None else "exact",
        vector_fallback=fallback,
    )
