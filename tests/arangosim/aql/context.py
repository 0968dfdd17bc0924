"""What a running query sees: its database through a transaction, its limits, its counters.

`declared` are the collections of the query's WITH."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.arangosim.collection import Collection
from tests.arangosim.errors import QUERY_KILLED, RESOURCE_LIMIT, ArangoError
from tests.arangosim.transactions import DataAccess

if TYPE_CHECKING:
    from tests.arangosim.state import Database

Row = dict[str, Any]


@dataclass
class Limits:
    """`max_seconds` and `memory_bytes`; None is unlimited."""

    max_seconds: float | None = None
    memory_bytes: int | None = None


@dataclass
class Statistics:
    """The counters of `extra.stats` that this server keeps."""

    writes_executed: int = 0
    writes_ignored: int = 0
    scanned_full: int = 0
    scanned_index: int = 0
    filtered: int = 0
    full_count: int | None = None
    peak_memory: int = 0

    def body(self) -> dict[str, Any]:
        shown = {
            "writesExecuted": self.writes_executed,
            "writesIgnored": self.writes_ignored,
            "scannedFull": self.scanned_full,
            "scannedIndex": self.scanned_index,
            "filtered": self.filtered,
            "httpRequests": 0,
            "executionTime": 0.0,
            "peakMemoryUsage": self.peak_memory,
            "intermediateCommits": 0,
        }
        return shown if self.full_count is None else shown | {"fullCount": self.full_count}


@dataclass
class QueryContext:
    """One execution of one query."""

    database: "Database"
    transaction: DataAccess
    limits: Limits = field(default_factory=Limits)
    options: dict[str, Any] = field(default_factory=dict)
    statistics: Statistics = field(default_factory=Statistics)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    modified: set[str] = field(default_factory=set)
    declared: frozenset[str] = frozenset()
    started: float = 0.0

    def __post_init__(self) -> None:
        self._memory = 0

    def collection(self, name: str) -> Collection:
        return self.transaction.collection(name)

    def check_runtime(self) -> None:
        """Raises ArangoError 1500 once the query has run for longer than `maxRuntime`."""
        allowed = self.limits.max_seconds
        if allowed and self.database.server.clock.now() - self.started > allowed:
            raise ArangoError(QUERY_KILLED, f"maxRuntime of {allowed} s exceeded")

    def hold(self, value: Any) -> Any:
        """Count the size of a value that the query must keep. Raises ArangoError 32 over `memoryLimit`."""
        if self.limits.memory_bytes:
            self._memory += size_of(value)
            self.statistics.peak_memory = max(self.statistics.peak_memory, self._memory)
            if self._memory > self.limits.memory_bytes:
                raise ArangoError(RESOURCE_LIMIT, f"query would use more memory than allowed: {self._memory} bytes")
        return value

    def warn(self, code: int, message: str) -> None:
        self.warnings.append({"code": code, "message": message})


def size_of(value: Any) -> int:
    """About the bytes that a value takes: 8 per number, the length of strings and names, 16 per container."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return 16 + (8 * len(value) if value and isinstance(value[0], float) else sum(map(size_of, value)))
    if isinstance(value, dict):
        return 16 + sum(len(name) + size_of(item) for name, item in value.items())
    return 8


def scorer_name(variable: str) -> str:
    """The hidden variable that carries a view document's scorer; no query can name it."""
    return f"\0{variable}"


def visible(row: Row) -> Row:
    """The row without hidden variables."""
    return {name: value for name, value in row.items() if not name.startswith("\0")}
