"""`POST /v1/inspect` and `GET /v1/ledgers/{id}`."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from steelyard_contracts.answers import Ledger
from steelyard_contracts.chat import InspectRequest
from steelyard_runtime.body import StrictRoute
from steelyard_runtime.replies import json_reply

from ..gateway import Gateway
from .access import gateway

router = APIRouter(route_class=StrictRoute, tags=["evidence"])


@router.post("/v1/inspect", response_model=Ledger)
async def inspect(body: InspectRequest, served: Annotated[Gateway, Depends(gateway)]) -> Response:
    """Find and select evidence for a question without asking the model."""
    return json_reply(await served.inspect(body))


@router.get("/v1/ledgers/{ledger_id}", response_model=Ledger)
async def ledger(ledger_id: str, served: Annotated[Gateway, Depends(gateway)]) -> Response:
    """The ledger of an earlier request."""
    return json_reply(await served.ledger(ledger_id))
