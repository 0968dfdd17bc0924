"""`POST /v1/inspect`, `POST /v1/replay`, `GET /v1/ledgers` and `GET /v1/ledgers/{id}`."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from steelyard_contracts.answers import Ledger, LedgerList
from steelyard_contracts.chat import InspectRequest
from steelyard_contracts.replay import Replay, ReplayRequest
from steelyard_runtime.body import StrictRoute
from steelyard_runtime.replies import json_reply

from .. import ledgers
from ..gateway import Gateway
from .access import gateway

router = APIRouter(route_class=StrictRoute, tags=["evidence"])


@router.post("/v1/inspect", response_model=Ledger)
async def inspect(body: InspectRequest, served: Annotated[Gateway, Depends(gateway)]) -> Response:
    """Find and select evidence for a question without asking the model."""
    return json_reply(ledgers.without_vectors(await served.inspect(body)))


@router.post("/v1/replay", response_model=Replay)
async def replay(body: ReplayRequest, served: Annotated[Gateway, Depends(gateway)]) -> Response:
    """Select a recorded ledger's candidates again with other settings, without asking any model."""
    return json_reply(await served.replay(body))


@router.get("/v1/ledgers", response_model=LedgerList)
async def newest(
    served: Annotated[Gateway, Depends(gateway)], limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> Response:
    """The newest ledgers that the caller may read."""
    return json_reply(await served.newest(limit))


@router.get("/v1/ledgers/{ledger_id}", response_model=Ledger)
async def ledger(ledger_id: str, served: Annotated[Gateway, Depends(gateway)], vectors: bool = False) -> Response:
    """The ledger of an earlier request; with `vectors=true` also the embeddings that a replay reads."""
    found = await served.ledger(ledger_id)
    return json_reply(found if vectors else ledgers.without_vectors(found))
