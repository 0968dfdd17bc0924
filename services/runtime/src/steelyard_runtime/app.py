"""The app factory: what every service has in common, so that a service only adds its own routes."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.routing import APIRoute

from steelyard_contracts.enums import Stage
from steelyard_contracts.errors import ErrorCode
from steelyard_contracts.health import HealthCheck, Info, Statistics

from . import context, logs, middleware, openapi, problems
from .body import StrictRoute
from .guard import Guard, LoopbackGuard, TokenGuard
from .health import Health, Probe
from .load_limit import LoadLimit
from .metrics import Metrics
from .paths import NO_PATHS, Paths
from .policy import policy_hash
from .service_token import service_token
from .settings.groups import ProcessSettings
from .tracing.traces import Traces

VERSION = version("steelyard-runtime")

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Service:
    """What a service tells the app factory about itself.

    `errors` maps its domain exceptions to error codes; `policy` are the settings whose hash is in every reply;
    `openai_paths` are the routes whose errors are OpenAI's error objects; `upload_mb` are the paths whose bodies
    have another limit than the common one, in MiB; `guard` replaces the common one, which asks for the service token.
    """

    stage: Stage
    title: str
    description: str
    policy: Mapping[str, Any]
    errors: Mapping[type[Exception], ErrorCode] = field(default_factory=dict)
    limits: Mapping[str, int | float | None] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)
    openai_paths: Paths = NO_PATHS
    upload_mb: Mapping[str, int] = field(default_factory=dict)
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What a service learns of its models only while it runs; added to what `Service` says of them.

    `policy` is in place of the declared one, for a service whose models are part of it.
    """

    limits: Mapping[str, int | float | None] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """What a service's lifespan gives back.

    Its resources for the routes, the probes of what it depends on, and the facts for `/info`, asked for every time.
    Without the `optional` dependencies the service is ready all the same, because it answers without them.
    """

    resources: Any
    probes: Mapping[str, Probe] = field(default_factory=dict)
    facts: Callable[[], Facts] = Facts
    optional: frozenset[str] = frozenset()


Lifespan = Callable[[Metrics], AbstractAsyncContextManager[Running]]
"""Opens a service's resources and closes them at the end; gets the service's metrics to add its own counters."""


def create_app(
    service: Service, settings: ProcessSettings, lifespan: Lifespan, routers: Sequence[APIRouter]
) -> FastAPI:
    """Build the FastAPI app of one service.

    Raises TypeError for a router whose routes would read bodies leniently, and ValueError as `service_token` does.
    """
    policy = policy_hash(service.policy)
    metrics = Metrics(service.stage)
    traces = Traces(settings.otel_exporter_otlp_endpoint, service.stage, VERSION, metrics)

    @asynccontextmanager
    async def run(app: FastAPI) -> AsyncIterator[None]:
        async with traces, _opened(lifespan(metrics)) as running:
            health = Health(service.stage, running.probes, running.optional)
            app.state.resources = running.resources
            app.state.health = health
            app.state.facts = running.facts
            await health.start()
            try:
                yield
            finally:
                await health.stop()

    app = FastAPI(
        title=service.title,
        description=service.description,
        version=VERSION,
        lifespan=run,
        docs_url=None,
        redoc_url=None,
        # A redirect from `/path/` would lead to whatever the request's Host says, and from a TLS proxy out of TLS.
        redirect_slashes=False,
        # Says that errors are described, so that FastAPI describes none of its own; `openapi` says how.
        responses={"default": {}},
        # Its own would export queries of URLs and the messages of exceptions, which may quote a text.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.router.route_class = StrictRoute
    app.state.policy_hash = policy
    app.state.facts = Facts
    app.state.load_limit = LoadLimit(
        settings.steelyard_max_concurrency, service.stage, metrics, policy, service.openai_paths
    )
    problems.install(app, service.stage, service.errors, service.openai_paths)
    middleware.install(
        app,
        stage=service.stage,
        metrics=metrics,
        traces=traces,
        limits=middleware.Limits(
            body_bytes=settings.steelyard_max_body_mb * _MIB,
            load=app.state.load_limit,
            timeout_s=settings.steelyard_request_timeout_s,
            upload_bytes={path: most * _MIB for path, most in service.upload_mb.items()},
        ),
        policy_hash=policy,
        guard=service.guard or _guard(service_token(settings)),
        openai_paths=service.openai_paths,
    )
    for router in routers:
        _require_strict_routes(router)
        app.include_router(router)
    app.include_router(_operations(service, metrics))
    openapi.install(app, service.openai_paths)
    return app


def _guard(token: str | None) -> Guard:
    """The common guard: without a token a service is on loopback, where only web pages have to be told apart."""
    return LoopbackGuard(TokenGuard.OPEN_PATHS) if token is None else TokenGuard(token)


@asynccontextmanager
async def _opened(resources: AbstractAsyncContextManager[Running]) -> AsyncIterator[Running]:
    """Open a service's resources; what keeps them from opening is logged, since the process then ends."""
    try:
        running = await resources.__aenter__()
    except Exception as error:
        logs.get().error("startup_failed", kind=type(error).__name__, cause=str(error))
        raise
    try:
        yield running
    finally:
        await resources.__aexit__(None, None, None)


def _require_strict_routes(router: APIRouter) -> None:
    for route in router.routes:
        if isinstance(route, APIRoute) and not isinstance(route, StrictRoute):
            raise TypeError(f"the router of {route.path} should be made with route_class=StrictRoute")


def _operations(service: Service, metrics: Metrics) -> APIRouter:
    router = APIRouter(tags=["operations"])

    @router.get("/live")
    async def live() -> dict[str, str]:
        """Answer as long as the process can."""
        return {"status": "live"}

    @router.get("/ready")
    async def ready(request: Request) -> Response:
        """Say whether every dependency is usable, and if not, why; 503 when a required one is not."""
        readiness = request.app.state.health.readiness()
        return JSONResponse(readiness.model_dump(mode="json"), status_code=200 if readiness.ready else 503)

    @router.get("/v1/health_check")
    async def health_check(request: Request) -> Response:
        """OPEA's health reply; its status follows readiness, so that it does not claim more than is so."""
        reply = HealthCheck(
            service_title=service.title, service_description=service.description, service_version=VERSION
        )
        status = 200 if request.app.state.health.readiness().ready else 503
        return JSONResponse(reply.model_dump(mode="json", by_alias=True), status_code=status)

    @router.get("/info")
    async def info(request: Request) -> Info:
        """Limits, models and policy."""
        facts: Facts = request.app.state.facts()
        effective = service.policy if facts.policy is None else facts.policy
        digest = policy_hash(effective)
        context.note_policy(digest)
        return Info(
            service=service.stage,
            version=VERSION,
            policy_hash=digest,
            policy=dict(effective),
            limits={**service.limits, **facts.limits},
            models={**service.models, **facts.models},
        )

    @router.get("/metrics", response_class=PlainTextResponse)
    async def prometheus() -> Response:
        """Metrics in Prometheus's text format."""
        return Response(metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @router.get("/v1/statistics")
    async def statistics() -> list[Statistics]:
        """Requests, errors and recent time percentiles per endpoint."""
        return metrics.statistics()

    return router
