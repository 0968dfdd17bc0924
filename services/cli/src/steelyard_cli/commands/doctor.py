"""`steelyard doctor`."""

import os
from pathlib import Path

import typer

from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_models.cache import default_cache_dir
from steelyard_runtime.settings.groups import EmbeddingModelSettings, StoreSettings

from .. import environment, options, startup
from ..doctor import machine, stack
from ..doctor.finding import Finding, Level
from ..exits import ExitCode
from ..render.findings import findings_table
from ..services import LLM
from ..supervisor.launch import running
from ..supervisor.plan import RunFolder
from ..terminal import Terminal


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(doctor)


def doctor(
    as_json: options.Json = False,
    env_file: options.EnvFile = None,
    state_dir: options.StateDir = options.DEFAULT_STATE_DIR,
) -> None:
    """Check the machine and the installation, and say how to mend what is wrong; exits 1 when something must be."""
    terminal = Terminal.open(as_json=as_json)
    environment.apply(env_file)
    findings = examine(state_dir)
    worst = stack.worst(findings)
    if as_json:
        terminal.result({"level": worst, "findings": [finding.model_dump() for finding in findings]})
    else:
        terminal.show(findings_table(findings, terminal.out))
    if worst is Level.FAIL:
        raise typer.Exit(int(ExitCode.FAILED))


def examine(state_dir: Path) -> list[Finding]:
    """Everything that is looked at, in order. What depends on settings is left out when those are refused."""
    settings = stack.settings()
    findings = [
        machine.python(),
        machine.processor(),
        machine.memory(),
        machine.disk("disk of the store", state_dir.absolute()),
        machine.disk("disk of the models", default_cache_dir().absolute()),
        machine.clock(),
        settings,
    ]
    if settings.level is Level.FAIL:
        return findings
    gateway = ChatqnaSettings.load()
    embedding = EmbeddingModelSettings.load()
    specs = startup.expected(gateway, os.environ)
    run = running(RunFolder(state_dir.absolute()))
    findings += [stack.port(spec, run) for spec in specs]
    findings.append(stack.model(embedding.embedding_model_id, embedding.steelyard_model_dir))
    if LLM in specs:
        findings.append(stack.model(gateway.llm_model_id, embedding.steelyard_model_dir))
    findings.append(stack.store(StoreSettings.load()))
    return findings
