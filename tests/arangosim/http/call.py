"""One request as the handlers see it, and what they answer."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from tests.arangosim.collection import Collection
from tests.arangosim.errors import BAD_PARAMETER, CORRUPTED_JSON, ArangoError
from tests.arangosim.journal import Journal
from tests.arangosim.state import Database, ServerState
from tests.arangosim.transactions import Transaction

T = TypeVar("T")


class Reply(NamedTuple):
    """A JSON body with its status."""

    status: int
    body: Any
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


@dataclass
class Call:
    """`path` holds the values of the route's variable parts; `user` is who authenticated."""

    state: ServerState
    journal: Journal
    database_name: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    raw_body: bytes
    user: str = "root"
    coordinator: int = 0
    _parsed: list[Any] = field(default_factory=list)

    @property
    def database(self) -> Database:
        """Raises ArangoError 1228."""
        return self.state.database(self.database_name)

    @property
    def transaction(self) -> Transaction | None:
        """The stream transaction named by the request. Raises ArangoError 1655."""
        transaction_id = self.headers.get("x-arango-trx-id")
        return None if transaction_id is None else self.database.transactions.running(transaction_id)

    def json(self) -> Any:
        """The parsed body. Raises ArangoError 600."""
        if not self._parsed:
            try:
                self._parsed.append(json.loads(self.raw_body, parse_constant=_refuse_constant))
                if b"\\u" in self.raw_body:
                    json.dumps(self._parsed[0], ensure_ascii=False).encode()
            except ValueError as error:
                raise ArangoError(CORRUPTED_JSON, str(error)) from error
        return self._parsed[0]

    def object(self) -> dict[str, Any]:
        """The body as an object. Raises ArangoError 10, 600."""
        body = self.json()
        if not isinstance(body, dict):
            raise ArangoError(BAD_PARAMETER, "expecting a JSON object as body")
        return body

    def field(self, name: str, kind: type[T]) -> T:
        """A member that the body must have. Raises ArangoError 10."""
        value = self.object().get(name)
        if not isinstance(value, kind):
            raise ArangoError(BAD_PARAMETER, f"{name} is {value!r}")
        return value

    def parameter(self, name: str) -> str:
        """A query parameter that the request must have. Raises ArangoError 10."""
        if name not in self.query:
            raise ArangoError(BAD_PARAMETER, f"missing '{name}'")
        return self.query[name]

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.query.get(name)
        return default if value is None else value.lower() in ("true", "1", "yes", "on", "y")

    def readable(self, name: str) -> Collection:
        transaction = self.transaction
        return self.database.collection(name) if transaction is None else transaction.collection(name)

    def writable(self, name: str) -> Collection:
        transaction = self.transaction
        return self.database.collection(name) if transaction is None else transaction.writable(name)


Handler = Callable[[Call], Reply]


class Route(NamedTuple):
    """`path` is without the database prefix."""

    method: str
    path: str
    handler: Handler


def ok(body: dict[str, Any], status: int = 200) -> Reply:
    """A success object with ArangoDB's `error` and `code` members."""
    return Reply(status, body | {"error": False, "code": status})


def result(value: Any, status: int = 200) -> Reply:
    """A success object with the value under `result`."""
    return ok({"result": value}, status)
