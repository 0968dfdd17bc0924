"""How routes reach the running gateway."""

from fastapi import Request

from ..gateway import Gateway


async def gateway(request: Request) -> Gateway:
    """The gateway that the app's lifespan opened. Asynchronous, because FastAPI calls anything else in a thread."""
    running: Gateway = request.app.state.resources
    return running
