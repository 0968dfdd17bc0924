"""Stream transactions: a snapshot per collection, locks on what is written, and a commit that is all or nothing."""

import itertools
from typing import TYPE_CHECKING, Protocol

from tests.arangosim.collection import Collection
from tests.arangosim.documents import Document
from tests.arangosim.errors import (
    CONFLICT,
    TRANSACTION_DISALLOWED_OPERATION,
    TRANSACTION_NOT_FOUND,
    TRANSACTION_UNREGISTERED_COLLECTION,
    ArangoError,
)

if TYPE_CHECKING:
    from tests.arangosim.state import Database


class DataAccess(Protocol):
    """How a query reaches collections."""

    def collection(self, name: str) -> Collection: ...

    def writable(self, name: str) -> Collection: ...


class DirectReads:
    """A query that changes nothing reads the collections themselves: no other request runs beside it."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    def collection(self, name: str) -> Collection:
        """Raises ArangoError 1203."""
        return self._database.collection(name)

    def writable(self, name: str) -> Collection:
        raise TypeError(f"a reading query asked to write {name}")


class Transaction:
    """One transaction on one database. `writes` None lets any collection be written (the implicit one of a query)."""

    def __init__(
        self,
        transaction_id: str,
        database: "Database",
        reads: set[str],
        writes: set[str] | None,
        *,
        implicit_reads: bool = True,
        owner: int = 0,
    ) -> None:
        self.id = transaction_id
        self.owner = owner
        self.status = "running"
        self._database = database
        self._reads = reads
        self._writes = writes
        self._implicit_reads = implicit_reads
        self._forks: dict[str, Collection] = {}
        self._origins: dict[str, dict[str, Document]] = {}
        self._written: dict[str, set[str]] = {}

    def collection(self, name: str) -> Collection:
        """The transaction's copy. Raises ArangoError 1203, 1652."""
        base = self._database.collection(name)
        if base.name not in self._forks:
            declared = base.name in self._reads or self._writes is None or base.name in self._writes
            if not declared and not self._implicit_reads:
                raise ArangoError(TRANSACTION_UNREGISTERED_COLLECTION, name)
            fork = base.fork()
            fork.guard = lambda key: self._lock(base, key)
            self._forks[base.name] = fork
            self._origins[base.name] = dict(base.documents)
        return self._forks[base.name]

    def writable(self, name: str) -> Collection:
        """Raises ArangoError 1203, 1652."""
        if self._writes is not None and name not in self._writes:
            raise ArangoError(TRANSACTION_UNREGISTERED_COLLECTION, f"{name} is not declared for writing")
        return self.collection(name)

    def commit(self) -> None:
        """Raises ArangoError 1210, 1653."""
        self._must_run("commit")
        try:
            for name, keys in self._written.items():
                self._database.collection(name).adopt(self._forks[name], keys)
        finally:
            self._release()
        self.status = "committed"

    def abort(self) -> None:
        """Raises ArangoError 1653."""
        self._must_run("abort")
        self._release()
        self.status = "aborted"

    def _lock(self, base: Collection, key: str) -> None:
        owner = base.locks.get(key)
        if owner not in (None, self.id) or base.documents.get(key) is not self._origins[base.name].get(key):
            raise ArangoError(CONFLICT, f"write-write conflict; key: {key}")
        base.locks[key] = self.id
        self._written.setdefault(base.name, set()).add(key)

    def _must_run(self, action: str) -> None:
        if self.status != "running":
            raise ArangoError(TRANSACTION_DISALLOWED_OPERATION, f"cannot {action}: transaction is {self.status}")

    def _release(self) -> None:
        for name, keys in self._written.items():
            base = self._database.collections.get(name)
            for key in keys if base is not None else ():
                base.locks.pop(key, None)  # type: ignore[union-attr]


class Transactions:
    """All stream transactions of a database, ended ones too: their status can be asked for."""

    def __init__(self) -> None:
        self._all: dict[str, Transaction] = {}
        self._ids = itertools.count(7001)

    def begin(
        self, database: "Database", reads: set[str], writes: set[str], *, implicit_reads: bool = True, owner: int = 0
    ) -> Transaction:
        """A transaction that lives at coordinator `owner`. Raises ArangoError 1203 for an unknown collection."""
        for name in reads | writes:
            database.collection(name)
        transaction = Transaction(
            str(next(self._ids)), database, reads, writes, implicit_reads=implicit_reads, owner=owner
        )
        self._all[transaction.id] = transaction
        return transaction

    def get(self, transaction_id: str) -> Transaction:
        """Raises ArangoError 1655."""
        try:
            return self._all[transaction_id]
        except KeyError:
            raise ArangoError(TRANSACTION_NOT_FOUND, transaction_id) from None

    def running(self, transaction_id: str) -> Transaction:
        """Raises ArangoError 1655 also when it has ended."""
        transaction = self.get(transaction_id)
        if transaction.status != "running":
            raise ArangoError(TRANSACTION_NOT_FOUND, f"{transaction_id} is {transaction.status}")
        return transaction

    def lose(self, owner: int) -> None:
        """Abort and forget the transactions of a coordinator that died."""
        for transaction in [t for t in self._all.values() if t.owner == owner]:
            if transaction.status == "running":
                transaction.abort()
            del self._all[transaction.id]

    def list_running(self) -> list[dict[str, str]]:
        return [{"id": t.id, "state": t.status} for t in self._all.values() if t.status == "running"]
