"""The state of the stack, as `up` and `status` show it."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, Field

from ..supervisor.processes import is_running
from ..supervisor.state import ProcessPhase, RunRecord, ServiceRecord
from .readiness import probe_all
from .services import expected

TIRED_AFTER = 3
"""Ends in a row, before it was ever ready, after which `up` gives a service up."""


class ServiceReport(BaseModel):
    """One service: its process, and whether it can do its work. `process` is None when it was not started here."""

    name: str
    url: str
    ready: bool
    process: str | None
    pid: int | None = None
    restarts: int = 0
    causes: list[str] = Field(default_factory=list)
    log: Path | None = None


class StackReport(BaseModel):
    """Every service in start order. `supervisor` is the pid, None when none runs."""

    ready: bool
    supervisor: int | None
    services: list[ServiceReport]

    def unready(self) -> list[ServiceReport]:
        """The services that can not do their work."""
        return [service for service in self.services if not service.ready]


def look_at_run(record: RunRecord) -> StackReport:
    """Ask every service of a run."""
    probes = probe_all([service.url + service.ready_path for service in record.services])
    services = []
    for service, probe in zip(record.services, probes, strict=True):
        alive = service.process is not None and is_running(service.process)
        services.append(
            ServiceReport(
                name=service.name,
                url=service.url,
                ready=alive and probe.ready,
                process=_process(service, alive=alive),
                pid=service.process.pid if service.process is not None and alive else None,
                restarts=service.exits,
                causes=probe.causes if alive else [_end(service), *service.last_lines],
                log=service.log,
            )
        )
    supervisor = record.supervisor.pid if is_running(record.supervisor) else None
    return StackReport(ready=all(service.ready for service in services), supervisor=supervisor, services=services)


def look_at_ports(environ: Mapping[str, str]) -> StackReport:
    """Ask at the address of every service that a stack with these settings has, whoever started it."""
    specs = expected(environ)
    urls = [spec.url(environ) for spec in specs]
    probes = probe_all([url + spec.ready_path for url, spec in zip(urls, specs, strict=True)])
    services = [
        ServiceReport(
            name=spec.name,
            url=url,
            ready=probe.ready,
            process=None,
            causes=probe.causes if probe.reachable else ["nothing listens there"],
        )
        for spec, url, probe in zip(specs, urls, probes, strict=True)
    ]
    return StackReport(ready=all(service.ready for service in services), supervisor=None, services=services)


def given_up(record: RunRecord) -> list[str]:
    """Services that waiting will not make ready: their settings are refused, or they keep ending."""
    return [
        service.name
        for service in record.services
        if service.phase is ProcessPhase.REFUSED or service.exits >= TIRED_AFTER
    ]


def _process(service: ServiceRecord, *, alive: bool) -> str:
    if alive or service.phase in {ProcessPhase.RESTARTING, ProcessPhase.REFUSED, ProcessPhase.STOPPED}:
        return str(service.phase)
    return "gone"


def _end(service: ServiceRecord) -> str:
    if service.phase is ProcessPhase.REFUSED:
        return f"refused to start ({service.last_exit})"
    if service.last_exit is not None:
        return f"ended with {service.last_exit}"
    return "is being started" if service.phase is ProcessPhase.STARTING else "does not run"
