"""The web application of one coordinator: journal, faults, authentication, dispatch, error bodies."""

import json
from typing import Any

from aiohttp import web

from tests.arangosim.errors import NO_SUCH_ROUTE, NOT_IMPLEMENTED, ArangoError
from tests.arangosim.faults import Faults
from tests.arangosim.http import (
    accounts,
    admin,
    analyzers,
    collections,
    cursor,
    databases,
    documents,
    edges,
    graphs,
    imports,
    indexes,
    transactions,
    views,
)
from tests.arangosim.http.call import Call, Handler, Reply, Route
from tests.arangosim.journal import Journal, RequestRecord
from tests.arangosim.state import ServerState

MODULES = (
    accounts,
    admin,
    analyzers,
    collections,
    cursor,
    databases,
    documents,
    edges,
    graphs,
    imports,
    indexes,
    transactions,
    views,
)
ROUTES: list[Route] = [route for module in MODULES for route in module.ROUTES]
OPEN_PATHS = frozenset({"/_open/auth", "/_admin/server/availability"})


def build(state: ServerState, journal: Journal, faults: Faults, coordinator: int) -> web.Application:
    """An application over the shared state; `coordinator` is its number in the journal and for fault rules."""
    app = web.Application(client_max_size=512 * 2**20)
    edge = _Edge(state, journal, faults, coordinator)
    for route in ROUTES:
        for prefix in ("", "/_db/{database}"):
            app.router.add_route(route.method, prefix + route.path, edge.served(route))
    app.router.add_route("*", "/{unknown:.*}", edge.served(None))
    return app


def _raise_unknown(_call: Call) -> Reply:
    raise ArangoError(NO_SUCH_ROUTE)


def dumps(value: Any) -> bytes:
    """JSON as the server sends it: no NaN, no spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


class _Edge:
    def __init__(self, state: ServerState, journal: Journal, faults: Faults, coordinator: int) -> None:
        self._state = state
        self._journal = journal
        self._faults = faults
        self._coordinator = coordinator

    def served(self, route: Route | None) -> Any:
        handler = route.handler if route is not None else _raise_unknown

        async def serve(request: web.Request) -> web.StreamResponse:
            body = await request.read()
            record = RequestRecord(
                self._coordinator, request.method, request.path, dict(request.query), dict(request.headers), body
            )
            self._journal.requests.append(record)

            async def answer() -> web.Response:
                response = self._answer(request, body, handler)
                record.status = response.status
                return response

            action = self._faults.for_request(request.method, request.path, self._coordinator)
            if action is None:
                return await answer()
            response = await action.apply(request, answer)
            record.status = None if response is None else response.status
            return response or web.Response()

        return serve

    def _answer(self, request: web.Request, body: bytes, handler: Handler) -> web.Response:
        try:
            reply = self._handled(request, body, handler)
        except ArangoError as error:
            reply = Reply(error.http, error.body())
            if error.http == 401:
                reply = Reply(401, error.body(), {"WWW-Authenticate": 'Bearer token_type="JWT", realm="ArangoDB"'})
        except Exception as error:
            # A defect of this server must fail the test that met it, not look like an answer of ArangoDB.
            self._journal.crashes.append(error)
            raise
        content = b"" if reply.body is None or request.method == "HEAD" else dumps(reply.body)
        return web.Response(
            body=content, status=reply.status, headers=dict(reply.headers), content_type="application/json"
        )

    def _handled(self, request: web.Request, body: bytes, handler: Handler) -> Reply:
        path = request.path.split("/", 3)
        bare = "/" + path[3] if request.path.startswith("/_db/") and len(path) > 3 else request.path
        user = (
            "root" if bare in OPEN_PATHS else self._state.accounts.authenticated(request.headers.get("Authorization"))
        )
        if "x-arango-async" in request.headers:
            raise ArangoError(NOT_IMPLEMENTED, "this server runs no asynchronous jobs")
        name = request.match_info.get("database", "_system")
        self._state.database(name)
        call = Call(
            self._state,
            self._journal,
            name,
            request.match_info,
            request.query,
            request.headers,
            body,
            user,
            self._coordinator,
        )
        return handler(call)
