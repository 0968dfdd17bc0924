"""Making the plan of `steelyard up`: which processes, with which command lines, on which ports."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from .errors import ConfigurationError, StackError
from .services import LLM, START_ORDER, ServiceSpec, bind_host
from .settings import CommandSettings
from .supervisor import ports
from .supervisor.plan import Plan, ServicePlan


def expected(environ: Mapping[str, str]) -> tuple[ServiceSpec, ...]:
    """The services that a stack with these settings has, in start order.

    The model server is left out when the gateway answers without a model or uses one that is elsewhere.
    """
    if environ.get("LLM_BACKEND") == "extractive":
        return tuple(spec for spec in START_ORDER if spec is not LLM)
    url = environ.get("LLM_URL", "").removesuffix("/").removesuffix("/v1")
    port = LLM.port(environ)
    if url and url not in {f"http://127.0.0.1:{port}", f"http://localhost:{port}"}:
        return tuple(spec for spec in START_ORDER if spec is not LLM)
    return START_ORDER


def link(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables by which services find peers that were given another port than the usual one."""
    return {
        spec.peer_variable: spec.url(environ)
        for spec in START_ORDER
        if spec.peer_variable is not None
        and spec.peer_variable not in environ
        and spec.port(environ) != spec.default_port
    }


def make_plan(settings: CommandSettings, *, attached: bool) -> Plan:
    """The plan for this process's environment. Raises ConfigurationError when two services share a port."""
    specs = expected(os.environ)
    seen: dict[int, ServiceSpec] = {}
    for spec in specs:
        port = spec.port(os.environ)
        if port in seen:
            raise ConfigurationError(
                f"{spec.port_variable}={port} is also the port of {seen[port].name} ({seen[port].port_variable})"
            )
        seen[port] = spec
    return Plan(attached=attached, services=[_service(spec, settings) for spec in specs])


def check_ports(plan: Plan) -> None:
    """Raise StackError naming every port of the plan that is taken, and by whom."""
    host = bind_host(os.environ)
    taken = [
        f"{service.name}: port {service.port} is taken by {ports.holder(service.port)}"
        for service in plan.services
        if not ports.is_free(host, service.port)
    ]
    if taken:
        raise StackError("\n".join(taken), hint="Stop that process, or give the service another port.")


def _service(spec: ServiceSpec, settings: CommandSettings) -> ServicePlan:
    command = [sys.executable, "-m", spec.module]
    if spec is LLM:
        command += _model_server_options(settings)
    return ServicePlan(
        name=spec.name,
        command=command,
        url=spec.url(os.environ),
        ready_path=spec.ready_path,
        port=spec.port(os.environ),
    )


def _model_server_options(settings: CommandSettings) -> list[str]:
    options = ["--model", settings.llm_model_id, "--host", "127.0.0.1", "--port", str(settings.llm_port)]
    options += ["--threads", str(settings.llm_threads), "--context", str(settings.llm_context)]
    if settings.steelyard_model_dir is not None:
        options += ["--cache-dir", str(Path(settings.steelyard_model_dir))]
    return options
