"""The one place where the failures of both drivers become the port's errors.

Dispatch is on ArangoDB's ``errorNum``: the HTTP status of one number differs between endpoints, and one status stands
for many numbers.

StoreError
└── VectorIndexUnusable      the approximate search can not run; the exact one can
"""

# ruff: noqa: N818  the port's errors are named by their condition.

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import arango.errno as errno
import requests
from arango import exceptions as sync
from arangoasync import exceptions as asynchronous

from steelyard_store.arangodb.address import ArangoAddress
from steelyard_store.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreNotInitialised,
    StoreUnavailable,
)

CONFLICTS = frozenset({errno.CONFLICT, errno.UNIQUE_CONSTRAINT_VIOLATED})
"""Somebody else wrote the same row first."""
ALREADY_THERE = frozenset({errno.DUPLICATE_NAME, errno.GRAPH_DUPLICATE, errno.UNIQUE_CONSTRAINT_VIOLATED})
"""What a creation that somebody else did first is answered with."""
_VECTOR_INDEX_NOT_APPLIED = 1554
_VECTOR_INDEX_NOT_READY = 1555


class VectorIndexUnusable(StoreError):
    """The approximate search can not run; ``reason`` names why, for logs and metrics."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class HostUnreachable(Exception):
    """A coordinator could not be asked; ``nothing_sent`` says that it can not have acted on the request."""

    def __init__(self, message: str, *, nothing_sent: bool) -> None:
        super().__init__(message)
        self.nothing_sent = nothing_sent


_BY_NUMBER: dict[int, tuple[type[StoreError], str]] = {
    errno.DATA_SOURCE_NOT_FOUND: (StoreNotInitialised, "a collection or view of the store does not exist"),
    errno.DATABASE_NOT_FOUND: (StoreNotInitialised, "the database does not exist"),
    errno.GRAPH_NOT_FOUND: (StoreNotInitialised, "the graph does not exist"),
    errno.FORBIDDEN: (StoreUnavailable, "the credentials are refused or lack rights"),
    errno.HTTP_UNAUTHORIZED: (StoreUnavailable, "the credentials are refused"),
    errno.CONFLICT: (StoreBusy, "another writer changed the same row"),
    errno.LOCK_TIMEOUT: (StoreBusy, "the lock could not be taken"),
    errno.CLUSTER_TIMEOUT: (StoreUnavailable, "a server of the cluster did not answer in time"),
    errno.QUERY_KILLED: (StoreUnavailable, "the query took longer than it was allowed to"),
    errno.RESOURCE_LIMIT: (StoreUnavailable, "the query needs more memory than it may take"),
    errno.READ_ONLY: (StoreUnavailable, "the server is read-only"),
    errno.SHUTTING_DOWN: (StoreUnavailable, "the server is shutting down"),
    errno.FILESYSTEM_FULL: (StoreFull, "no space is left on the server's disk"),
    errno.HTTP_SERVICE_UNAVAILABLE: (StoreUnavailable, "the server is not ready"),
    errno.CLUSTER_BACKEND_UNAVAILABLE: (StoreUnavailable, "a server of the cluster is not available"),
    errno.QUEUE_FULL: (StoreUnavailable, "the server has too much to do"),
    errno.CORRUPTED_DATAFILE: (StoreCorrupt, "the server's files are damaged; restore them from a backup"),
}


@contextmanager
def typed_errors(address: ArangoAddress) -> Iterator[None]:
    """Turn any failure of either driver in the block into a ``StoreError`` that names ``address``.

    Raises:
        VectorIndexUnusable: error 1554 or 1555.
        StoreError: of the class that fits the error number, with the original as its cause.
    """
    try:
        yield
    except (sync.ArangoServerError, asynchronous.ArangoServerError) as cause:
        raise _translate(address, cause) from cause
    except (
        HostUnreachable,
        sync.ArangoError,
        asynchronous.ArangoError,
        requests.RequestException,
        aiohttp.ClientError,
        ConnectionError,
    ) as cause:
        raise StoreUnavailable(f"store {address}: {cause or type(cause).__name__}") from cause
    except TimeoutError as cause:
        raise StoreUnavailable(f"store {address}: no answer in time") from cause


def error_number(cause: sync.ArangoServerError | asynchronous.ArangoServerError) -> int | None:
    """The server's own error number; None when the reply had none, as one of a proxy in between."""
    number = cause.response.error_code
    return number if isinstance(number, int) else None


def _translate(address: ArangoAddress, cause: sync.ArangoServerError | asynchronous.ArangoServerError) -> StoreError:
    number = error_number(cause)
    if number is None:
        return StoreUnavailable(f"store {address}: HTTP {cause.http_code} without an error of ArangoDB")
    said = f"(error {number}: {cause.error_message})"
    if number == _VECTOR_INDEX_NOT_APPLIED:
        return VectorIndexUnusable(f"store {address}: the vector index can not answer {said}", "not_applied")
    if number == _VECTOR_INDEX_NOT_READY:
        return VectorIndexUnusable(f"store {address}: the vector index is not ready {said}", "not_ready")
    kind, meaning = _BY_NUMBER.get(number, (StoreError, "the database refused the operation"))
    return kind(f"store {address}: {meaning} {said}")
