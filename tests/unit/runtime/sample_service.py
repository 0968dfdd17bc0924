"""A small service on the real runtime, with one route for each way in which a request can go wrong."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, File, UploadFile
from fastapi.responses import Response, StreamingResponse
from pydantic import Field
from starlette.requests import Request as HttpRequest

from steelyard_contracts.base import Bool, Int, Number, PositiveInt, Probability, Request, Text
from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode
from steelyard_runtime import context, logs
from steelyard_runtime.app import Running, Service, create_app
from steelyard_runtime.body import StrictRoute
from steelyard_runtime.health import Probe
from steelyard_runtime.metrics import Metrics
from steelyard_runtime.paths import Paths
from steelyard_runtime.settings.groups import ProcessSettings

MAX_BODY_MB = 1
MAX_UPLOAD_MB = 2


class Item(Request):
    text: Text
    weight: Number | None = None


class Sample(Request):
    text: Text = ""
    count: Int | None = None
    k: PositiveInt = 4
    number: Number | None = None
    share: Probability | None = None
    flag: Bool | None = None
    items: list[Item] = Field(default_factory=list)
    by_key: dict[Text, Number] = Field(default_factory=dict)


class DomainError(Exception):
    """An error of this service's own domain."""


class Watch:
    """What happened inside of the service, for the test that caused it."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.cancelled = threading.Event()
        self.after_reply = threading.Event()


def sample_app(*, watch: Watch | None = None, probes: dict[str, Probe] | None = None, **settings: Any) -> FastAPI:
    watch = watch or Watch()
    router = APIRouter(route_class=StrictRoute)

    @router.post("/v1/sample")
    async def sample(body: Sample) -> dict[str, Any]:
        return {"got": body.model_dump(mode="json", exclude_unset=True)}

    @router.get("/v1/items/{item_id}")
    async def item(item_id: str, limit: Annotated[int, Field(ge=1)] = 1) -> dict[str, Any]:
        return {"item": item_id, "limit": limit}

    @router.post("/v1/upload")
    async def upload(files: Annotated[list[UploadFile], File()]) -> dict[str, int]:
        return {str(file.filename): len(await file.read()) for file in files}

    @router.post("/v1/streamed")
    async def streamed(request: HttpRequest) -> dict[str, int]:
        return {"size": sum([len(part) async for part in request.stream()])}

    @router.get("/v1/boom")
    async def boom() -> None:
        raise RuntimeError("CANARY-IN-EXCEPTION")

    @router.get("/v1/domain")
    async def domain() -> None:
        raise DomainError("the store is away")

    @router.get("/v1/breaks")
    async def breaks() -> Response:
        async def parts() -> AsyncIterator[bytes]:
            yield b"first part,"
            raise RuntimeError("CANARY-IN-STREAM")

        return StreamingResponse(parts(), media_type="text/plain")

    @router.post("/v1/waits")
    async def waits(_body: Sample) -> None:
        watch.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            watch.cancelled.set()

    @router.get("/v1/streams-forever")
    async def streams_forever() -> Response:
        async def parts() -> AsyncIterator[bytes]:
            watch.started.set()
            try:
                while True:
                    yield b"part,"
                    await asyncio.sleep(0.005)
            finally:
                watch.cancelled.set()

        return StreamingResponse(parts(), media_type="text/plain")

    @router.post("/v1/works-after-its-reply")
    async def works_after(_body: Sample) -> Response:
        async def rest() -> None:
            await asyncio.sleep(0.25)
            watch.after_reply.set()

        from starlette.background import BackgroundTask

        return Response(b"{}", media_type="application/json", background=BackgroundTask(rest))

    @router.post("/v1/logs")
    async def writes_logs(body: Sample) -> dict[str, str]:
        logs.get().debug("sample_read", items=len(body.items))
        with context.current().timed("reading"):
            pass
        return {"request_id": context.current().request_id, "trace": str(context.current().traceparent)}

    @asynccontextmanager
    async def lifespan(_metrics: Metrics) -> AsyncIterator[Running]:
        yield Running(resources=None, probes=probes or {})

    service = Service(
        stage=Stage.RETRIEVER,
        title="Sample",
        description="A sample.",
        policy={"strategy": "slice"},
        errors={DomainError: ErrorCode.STORE_UNAVAILABLE},
        openai_paths=Paths(frozenset({"/v1/domain"})),
        upload_mb={"/v1/upload": MAX_UPLOAD_MB},
    )
    return create_app(service, ProcessSettings(**{"steelyard_max_body_mb": MAX_BODY_MB} | settings), lifespan, [router])
