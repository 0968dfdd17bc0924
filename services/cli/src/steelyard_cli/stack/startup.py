"""Making the plan of `steelyard up`: which processes, with which command lines, on which ports."""

import os
import sys
from collections.abc import Mapping

from steelyard_chatqna.settings import ChatqnaSettings

from .. import model_files
from ..doctor import stack
from ..doctor.finding import Level
from ..errors import ConfigurationError, StackError
from ..settings import CommandSettings
from ..supervisor import ports
from ..supervisor.plan import Plan, ServicePlan
from .services import LLM, START_ORDER, ServiceSpec, expected


def link(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables by which services find peers that were given another port than the usual one."""
    return {
        spec.peer_variable: spec.url(environ)
        for spec in START_ORDER
        if spec.peer_variable is not None
        and spec.peer_variable not in environ
        and spec.port(environ) != spec.default_port
    }


def make_plan(*, attached: bool) -> Plan:
    """The plan for this process's environment, whose settings must have been checked.

    Raises ConfigurationError when two services share a port.
    """
    gateway = ChatqnaSettings.load()
    command = CommandSettings.load()
    specs = expected(os.environ)
    seen: dict[int, ServiceSpec] = {}
    for spec in specs:
        port = spec.port(os.environ)
        if port in seen:
            raise ConfigurationError(
                f"{spec.port_variable}={port} is also the port of {seen[port].name} ({seen[port].port_variable})"
            )
        seen[port] = spec
    return Plan(attached=attached, services=[_service(spec, gateway, command) for spec in specs])


def check_models(plan: Plan) -> None:
    """Raise ConfigurationError naming every model of the plan whose files are not there or are not the right ones."""
    command = CommandSettings.load()
    names = model_files.needed()
    if any(service.name == LLM.name for service in plan.services):
        names.append(ChatqnaSettings.load().llm_model_id)
    findings = [stack.model(name, command.steelyard_model_dir) for name in names]
    if command.embedding_model_dir is not None:
        findings.append(stack.tokenizer(command.embedding_model_dir))
    failed = [finding for finding in findings if finding.level is Level.FAIL]
    if failed:
        raise ConfigurationError(
            "\n".join(f"{finding.name}: {finding.found}" for finding in failed),
            hint="\n".join(f"fix: {finding.fix}" for finding in failed),
        )


def check_ports(plan: Plan) -> None:
    """Raise StackError naming every port of the plan that is taken, and by whom."""
    taken = [
        f"{service.name}: port {service.port} is taken by {ports.holder(service.port)}"
        for service in plan.services
        if not ports.is_free(service.host, service.port)
    ]
    if taken:
        raise StackError("\n".join(taken), hint="Stop that process, or give the service another port.")


def _service(spec: ServiceSpec, gateway: ChatqnaSettings, command: CommandSettings) -> ServicePlan:
    line = [sys.executable, "-m", spec.module]
    if spec is LLM:
        line += ["--model", gateway.llm_model_id, "--context", str(gateway.llm_context_tokens)]
        line += [
            "--host",
            spec.host(os.environ),
            "--port",
            str(command.llm_port),
            "--threads",
            str(command.llm_threads),
        ]
        if command.steelyard_model_dir is not None:
            line += ["--cache-dir", command.steelyard_model_dir]
    return ServicePlan(
        name=spec.name,
        command=line,
        host=spec.host(os.environ),
        url=spec.url(os.environ),
        ready_path=spec.ready_path,
        port=spec.port(os.environ),
    )
