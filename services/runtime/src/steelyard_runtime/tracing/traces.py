"""The traces of one service, from its start to its end."""

import asyncio
from typing import TYPE_CHECKING, Self

from opentelemetry.trace import Tracer

from ..metrics import Metrics

if TYPE_CHECKING:
    from .export import Export


class Traces:
    """The tracer of one service while it runs, None without a collector. Use as an async context manager."""

    def __init__(self, collector: str | None, service: str, version: str, metrics: Metrics) -> None:
        self.tracer: Tracer | None = None
        self._collector = collector
        self._resource = {"service.namespace": "steelyard", "service.name": service, "service.version": version}
        self._counter = metrics.spans
        self._export: Export | None = None

    async def __aenter__(self) -> Self:
        if self._collector is not None:
            from .export import Export  # the SDK behind it is for those who have a collector

            self._export = Export(self._collector, self._resource, self._counter)
            self.tracer = self._export.tracer
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._export is not None:
            await asyncio.to_thread(self._export.close)
