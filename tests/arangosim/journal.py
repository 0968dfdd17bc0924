"""What came over the wire, for assertions."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class RequestRecord:
    """One HTTP request; `status` is None while it is unanswered and when the connection was broken on purpose."""

    coordinator: int
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    status: int | None = None

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class QueryRecord:
    """One AQL query that reached the server; `error_number` is set when it was refused."""

    text: str
    bind_vars: dict[str, Any]
    options: dict[str, Any]
    memory_limit: int | None
    database: str
    transaction: str | None = None
    error_number: int | None = None


@dataclass
class Journal:
    """All requests and all queries, in order of arrival. `crashes` are this server's own defects."""

    requests: list[RequestRecord] = field(default_factory=list)
    queries: list[QueryRecord] = field(default_factory=list)
    crashes: list[Exception] = field(default_factory=list)

    def clear(self) -> None:
        self.requests.clear()
        self.queries.clear()
