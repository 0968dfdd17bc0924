"""ArangoDB's error numbers that this server answers with, each with its HTTP status and message.

ArangoError
└── everything the server refuses: `{"error": true, "code": <http>, "errorNum": <number>, "errorMessage": <text>}`

Numbers and names are those of the drivers' `errno` modules; HTTP statuses are ArangoDB's published mapping (unmapped
numbers are 500). 1555 is not in the drivers: see README.md for what no live server has confirmed.
"""

from typing import Any, NamedTuple


class ErrorKind(NamedTuple):
    """One row of the table."""

    number: int
    http: int
    message: str


INTERNAL = ErrorKind(4, 500, "internal error")
NOT_IMPLEMENTED = ErrorKind(9, 501, "not implemented")
BAD_PARAMETER = ErrorKind(10, 400, "bad parameter")
FORBIDDEN = ErrorKind(11, 403, "forbidden")
UNAUTHORIZED = ErrorKind(11, 401, "not authorized to execute this request")
WRONG_CREDENTIALS = ErrorKind(401, 401, "Wrong credentials")
RESOURCE_LIMIT = ErrorKind(32, 500, "resource limit exceeded")
NO_SUCH_ROUTE = ErrorKind(404, 404, "unknown path")
METHOD_NOT_ALLOWED = ErrorKind(405, 405, "method not supported")
CORRUPTED_JSON = ErrorKind(600, 400, "invalid JSON object")
CONFLICT = ErrorKind(1200, 409, "conflict")
PRECONDITION_FAILED = ErrorKind(1200, 412, "conflict, _rev values do not match")
DOCUMENT_NOT_FOUND = ErrorKind(1202, 404, "document not found")
DATA_SOURCE_NOT_FOUND = ErrorKind(1203, 404, "collection or view not found")
DOCUMENT_HANDLE_BAD = ErrorKind(1205, 400, "illegal document identifier")
DUPLICATE_NAME = ErrorKind(1207, 409, "duplicate name")
ILLEGAL_NAME = ErrorKind(1208, 400, "illegal name")
UNIQUE_CONSTRAINT_VIOLATED = ErrorKind(1210, 409, "unique constraint violated")
INDEX_NOT_FOUND = ErrorKind(1212, 404, "index not found")
COLLECTION_TYPE_INVALID = ErrorKind(1218, 400, "collection type invalid")
DOCUMENT_KEY_BAD = ErrorKind(1221, 400, "illegal document key")
DOCUMENT_TYPE_INVALID = ErrorKind(1227, 400, "invalid document type")
DATABASE_NOT_FOUND = ErrorKind(1228, 404, "database not found")
DATABASE_NAME_INVALID = ErrorKind(1229, 400, "database name invalid")
USE_SYSTEM_DATABASE = ErrorKind(1230, 403, "operation only allowed in system database")
INVALID_EDGE_ATTRIBUTE = ErrorKind(1233, 400, "edge attribute missing or invalid")
INDEX_CREATION_FAILED = ErrorKind(1235, 500, "index creation failed")
QUERY_KILLED = ErrorKind(1500, 410, "query killed")
QUERY_PARSE = ErrorKind(1501, 400, "AQL: ")
QUERY_EMPTY = ErrorKind(1502, 400, "query is empty")
QUERY_NUMBER_OUT_OF_RANGE = ErrorKind(1504, 400, "number is out of range")
QUERY_VARIABLE_REDECLARED = ErrorKind(1511, 400, "variable is assigned multiple times")
QUERY_VARIABLE_NAME_UNKNOWN = ErrorKind(1512, 400, "unknown variable")
QUERY_COLLECTION_LOCK_FAILED = ErrorKind(1521, 500, "unable to read-lock collection")
QUERY_FUNCTION_NAME_UNKNOWN = ErrorKind(1540, 400, "usage of unknown function")
QUERY_FUNCTION_ARGUMENT_NUMBER_MISMATCH = ErrorKind(1541, 400, "invalid number of arguments for function")
QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH = ErrorKind(1542, 400, "invalid argument type in call to function")
QUERY_INVALID_REGEX = ErrorKind(1543, 400, "invalid regex value")
QUERY_BIND_PARAMETERS_INVALID = ErrorKind(1550, 400, "invalid structure of bind parameters")
QUERY_BIND_PARAMETER_MISSING = ErrorKind(1551, 400, "no value specified for declared bind parameter")
QUERY_BIND_PARAMETER_UNDECLARED = ErrorKind(1552, 400, "bind parameter was not declared in the query")
QUERY_BIND_PARAMETER_TYPE = ErrorKind(1553, 400, "bind parameter has an invalid value or type")
QUERY_VECTOR_SEARCH_NOT_APPLIED = ErrorKind(1554, 500, "failed vector search")
QUERY_VECTOR_INDEX_NOT_READY = ErrorKind(1555, 503, "vector index is not ready")
QUERY_ARRAY_EXPECTED = ErrorKind(1563, 400, "array expected")
QUERY_COLLECTION_USED_IN_EXPRESSION = ErrorKind(1568, 400, "collection used as expression operand")
QUERY_ACCESS_AFTER_MODIFICATION = ErrorKind(1579, 400, "access after data-modification")
QUERY_NOT_FOUND = ErrorKind(1591, 404, "query ID not found")
CURSOR_NOT_FOUND = ErrorKind(1600, 404, "cursor not found")
VALIDATION_FAILED = ErrorKind(1620, 400, "schema violated")
TRANSACTION_UNREGISTERED_COLLECTION = ErrorKind(1652, 400, "unregistered collection used in transaction")
TRANSACTION_DISALLOWED_OPERATION = ErrorKind(1653, 400, "disallowed operation inside transaction")
TRANSACTION_NOT_FOUND = ErrorKind(1655, 404, "transaction not found")
USER_DUPLICATE = ErrorKind(1702, 409, "duplicate user")
USER_NOT_FOUND = ErrorKind(1703, 404, "user not found")
GRAPH_COLLECTION_MULTI_USE = ErrorKind(1920, 400, "edge collection already used in edge def")
GRAPH_CREATE_MALFORMED_EDGE_DEFINITION = ErrorKind(1923, 400, "malformed edge definition")
GRAPH_NOT_FOUND = ErrorKind(1924, 404, "graph not found")
GRAPH_DUPLICATE = ErrorKind(1925, 409, "graph already exists")
GRAPH_VERTEX_COL_DOES_NOT_EXIST = ErrorKind(1926, 404, "vertex collection does not exist or is not part of the graph")
GRAPH_NOT_IN_ORPHAN_COLLECTION = ErrorKind(1928, 404, "not in orphan collection")
GRAPH_EDGE_COLLECTION_NOT_USED = ErrorKind(1930, 404, "edge collection not used in graph")
GRAPH_MUST_NOT_DROP_COLLECTION = ErrorKind(1942, 500, "must not drop collection while part of graph")
GRAPH_COLLECTION_USED_IN_ORPHANS = ErrorKind(1938, 400, "collection used in orphans")


class ArangoError(Exception):
    """A refusal with its error number; `body` is what goes over the wire."""

    def __init__(self, kind: ErrorKind, detail: str = "", **extra: Any) -> None:
        message = f"{kind.message}{'' if not detail or kind.message.endswith(' ') else ': '}{detail}"
        super().__init__(f"[{kind.http}][{kind.number}] {message}")
        self.number = kind.number
        self.http = kind.http
        self.message = message
        self.extra = extra

    def body(self) -> dict[str, Any]:
        """The JSON error object of the HTTP API."""
        return {"error": True, "code": self.http, "errorNum": self.number, "errorMessage": self.message} | self.extra

    def item(self) -> dict[str, Any]:
        """The error as one entry of a many-documents reply, which carries no HTTP code."""
        return {"error": True, "errorNum": self.number, "errorMessage": self.message} | self.extra
