"""`GET /` and the other pages, the files that they load, and the fragments that carry their data."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from steelyard_contracts.enums import Strategy
from steelyard_contracts.errors import ErrorCode, SteelyardError
from steelyard_runtime.body import StrictRoute

from ..gateway import Gateway
from ..routes.access import gateway
from . import evidence_view
from .assets import static
from .rendering import html
from .sliders import asked, sliders

router = APIRouter(route_class=StrictRoute, include_in_schema=False)

_PAGES = {
    "/": "ask.html",
    "/documents": "documents.html",
    "/evidence": "evidence.html",
    "/services": "services.html",
}

PUBLIC_PATHS = frozenset({*_PAGES, *(f"/static/{name}" for name in static())})
"""Paths that hold nobody's data, so that a browser can open them without a key."""

_NEWEST = 50


@router.get("/")
@router.get("/documents")
@router.get("/evidence")
@router.get("/services")
async def page(request: Request) -> Response:
    """A page without data; its scripts fetch what it shows."""
    path = request.url.path
    return html(_PAGES[path], {"here": path})


@router.get("/static/{name}")
async def file(name: str, request: Request) -> Response:
    """A file of the pages."""
    found = static().get(name)
    if found is None:
        raise SteelyardError(ErrorCode.NOT_FOUND, "there is no such file")
    headers = {"ETag": found.etag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    if request.headers.get("if-none-match") == found.etag:
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type=found.media_type, headers=headers)


@router.get("/web/evidence/{ledger_id}")
async def evidence(ledger_id: str, served: Annotated[Gateway, Depends(gateway)]) -> Response:
    """The evidence of an answer."""
    ledger = await served.ledger(ledger_id)
    return html(
        "evidence_body.html",
        {
            "ledger": ledger,
            "funnel": evidence_view.funnel(ledger),
            "rows": evidence_view.rows(ledger),
            "strategies": list(Strategy),
            "sliders": sliders(ledger),
        },
    )


@router.get("/web/ledgers")
async def newest(served: Annotated[Gateway, Depends(gateway)]) -> Response:
    """The latest answers that the reader may see."""
    return html("newest.html", {"ledgers": (await served.newest(_NEWEST)).ledgers})


@router.get("/web/selection/{ledger_id}")
async def selection(ledger_id: str, request: Request, served: Annotated[Gateway, Depends(gateway)]) -> Response:
    """What would have been selected with the sliders where they are."""
    ledger = await served.ledger(ledger_id)
    replay = await served.replay(asked(ledger, request.query_params))
    names = {row.entry.chunk_id: f"{row.title} ({row.place})" for row in evidence_view.rows(ledger)}
    return html("selection.html", {"replay": replay, "names": names})


@router.get("/web/services")
async def services(request: Request) -> Response:
    """What the gateway depends on, as it was when it was last looked at, and what the gateway has done."""
    health = request.app.state.health
    return html("services_body.html", {"readiness": health.readiness()})
