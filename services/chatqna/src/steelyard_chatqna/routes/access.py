"""How routes reach the running gateway."""

from fastapi import Request

from ..gateway import Gateway


def gateway(request: Request) -> Gateway:
    """The gateway that the app's lifespan opened."""
    running: Gateway = request.app.state.resources
    return running
