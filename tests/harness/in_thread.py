"""A server in an event loop and a thread of its own, so that blocking tests can call it."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager

from aiohttp import web
from anyio.from_thread import start_blocking_portal


class InThread:
    """Runs `serving`, which gives the base URL of what it serves, from now until `stop`."""

    def __init__(self, serving: AbstractAsyncContextManager[str]) -> None:
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            self.url = stack.enter_context(portal.wrap_async_context_manager(serving))
            self._stack = stack.pop_all()

    def stop(self) -> None:
        """End what is served, and the thread with it."""
        self._stack.close()


@asynccontextmanager
async def served(app: web.Application, *, handler_cancellation: bool = False) -> AsyncIterator[str]:
    """Serve `app` on a free port and give its base URL."""
    runner = web.AppRunner(app, handler_cancellation=handler_cancellation, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
