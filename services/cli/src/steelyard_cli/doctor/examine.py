"""Everything that `steelyard doctor` looks at."""

import os
from pathlib import Path

from steelyard_chatqna.settings import ChatqnaSettings
from steelyard_models.cache import default_cache_dir
from steelyard_runtime.settings.groups import EmbeddingTokenizerSettings, StoreSettings

from .. import model_files
from ..stack.services import LLM, expected
from ..supervisor.launch import running
from ..supervisor.plan import RunFolder
from . import machine, stack
from .finding import Finding, Level
from .secret_files import secret_files

_STANDS_IN = "until then `steelyard up` answers with verbatim sentences of the documents"


def examine(state_dir: Path) -> list[Finding]:
    """Every finding, in order; what depends on settings is left out when those are refused."""
    settings = stack.settings()
    findings = [
        machine.python(),
        machine.processor(),
        machine.memory(),
        machine.disk("disk of the store", state_dir.absolute()),
        machine.disk("disk of the models", default_cache_dir().absolute()),
        machine.clock(),
        machine.openmp(),
        settings,
    ]
    if settings.level is Level.FAIL:
        return findings
    gateway = ChatqnaSettings.load()
    embedding = EmbeddingTokenizerSettings.load()
    specs = expected(os.environ)
    run = running(RunFolder(state_dir.absolute()))
    findings += [stack.port(spec, run) for spec in specs]
    findings += [stack.model(name, embedding.steelyard_model_dir) for name in model_files.needed()]
    if embedding.embedding_model_dir is not None:
        findings.append(stack.tokenizer(embedding.embedding_model_dir))
    if LLM in specs:
        answerer = stack.model(gateway.llm_model_id, embedding.steelyard_model_dir)
        if model_files.lacks_only_the_llm(os.environ):
            answerer = answerer.model_copy(update={"level": Level.WARN, "found": f"{answerer.found}; {_STANDS_IN}"})
        findings.append(answerer)
    findings += secret_files(gateway)
    findings.append(stack.store(StoreSettings.load()))
    return findings
