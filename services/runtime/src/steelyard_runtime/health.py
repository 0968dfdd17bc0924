"""Readiness: each dependency is looked at in the background, and `/ready` answers from the latest look."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from steelyard_contracts.health import Dependency, Readiness

from . import logs

Probe = Callable[[], Awaitable[None]]
"""Looks at one dependency; returns when it is usable and raises, with the cause as the message, when it is not."""

_INTERVAL_S = 2.0
_PROBE_TIMEOUT_S = 5.0


class Health:
    """The state of one service's dependencies; the service is ready without those that are `optional`."""

    def __init__(self, service: str, probes: Mapping[str, Probe], optional: frozenset[str] = frozenset()) -> None:
        self._service = service
        self._probes = dict(probes)
        self._optional = optional
        self._state = {name: self._found(name, "not looked at yet") for name in probes}
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Look at every dependency once, then go on looking in the background."""
        await self.look()
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Stop looking."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def look(self) -> None:
        """Look at every dependency now, all at the same time."""
        await asyncio.gather(*(self._look_at(name, probe) for name, probe in self._probes.items()))

    def readiness(self) -> Readiness:
        """The latest look."""
        dependencies = list(self._state.values())
        return Readiness(
            service=self._service,
            ready=all(dependency.ready or not dependency.required for dependency in dependencies),
            dependencies=dependencies,
        )

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_INTERVAL_S)
            await self.look()

    async def _look_at(self, name: str, probe: Probe) -> None:
        before = self._state[name]
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT_S):
                await probe()
        except TimeoutError:
            after = self._found(name, f"no answer within {_PROBE_TIMEOUT_S:g} s")
        except Exception as error:  # noqa: BLE001  whatever a probe raises is the cause that an operator reads
            after = self._found(name, str(error) or type(error).__name__)
        else:
            after = self._found(name)
        if after != before:
            logs.get().info("dependency_changed", dependency=name, ready=after.ready, cause=after.cause)
        self._state[name] = after

    def _found(self, name: str, cause: str | None = None) -> Dependency:
        return Dependency(name=name, ready=cause is None, required=name not in self._optional, cause=cause)
