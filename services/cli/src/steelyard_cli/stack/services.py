"""The services that `steelyard up` runs and the other commands talk to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import ConfigurationError

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """One process of the stack.

    `ready_path` answers 200 when the service can do its work; `peer_variable` is the setting by which the other
    services find it, None when none of them calls it.
    """

    name: str
    module: str
    port_variable: str
    default_port: int
    ready_path: str = "/ready"
    peer_variable: str | None = None
    local: bool = False

    def port(self, environ: Mapping[str, str]) -> int:
        """The port that `environ` gives the service; raises ConfigurationError when it is none to connect to."""
        text = environ.get(self.port_variable, str(self.default_port))
        if not re.fullmatch(r"\d{1,5}", text) or not 1 <= int(text) <= 65535:
            raise ConfigurationError(
                f"{self.port_variable}={text!r} should be a port from 1 to 65535, so that the other services find it"
            )
        return int(text)

    def url(self, environ: Mapping[str, str]) -> str:
        """The service's base URL on this host."""
        return f"http://{reachable(self.host(environ))}:{self.port(environ)}"

    def host(self, environ: Mapping[str, str]) -> str:
        """The address that the service listens on."""
        return _LOOPBACK if self.local else environ.get("STEELYARD_BIND_HOST", _LOOPBACK)


LLM = ServiceSpec("llm", "steelyard_models.llm_server", "LLM_PORT", 9009, "/health", "LLM_URL", local=True)
EMBEDDING = ServiceSpec("embedding", "steelyard_embedding", "EMBEDDING_PORT", 6000, peer_variable="EMBEDDING_URL")
RETRIEVER = ServiceSpec("retriever", "steelyard_retriever", "RETRIEVER_PORT", 7000, peer_variable="RETRIEVER_URL")
RERANKER = ServiceSpec("reranker", "steelyard_reranker", "RERANKER_PORT", 8000, peer_variable="RERANKER_URL")
DATAPREP = ServiceSpec("dataprep", "steelyard_dataprep", "DATAPREP_PORT", 5000, peer_variable="DATAPREP_URL")
CHATQNA = ServiceSpec("chatqna", "steelyard_chatqna", "CHATQNA_PORT", 8888)

START_ORDER = (LLM, EMBEDDING, RETRIEVER, RERANKER, DATAPREP, CHATQNA)
"""Callees before callers; they are stopped in the reverse order, so that nothing loses what it is calling."""


def expected(environ: Mapping[str, str]) -> tuple[ServiceSpec, ...]:
    """The services that a stack with these settings has, in start order.

    The model server is left out when the gateway answers without a model, or uses one that runs elsewhere.
    """
    here = {f"http://{host}:{LLM.port(environ)}" for host in (_LOOPBACK, "localhost")}
    asked = environ.get("LLM_URL")
    is_elsewhere = asked is not None and asked.removesuffix("/").removesuffix("/v1") not in here
    if is_elsewhere or environ.get("LLM_BACKEND") == "extractive":
        return tuple(spec for spec in START_ORDER if spec is not LLM)
    return START_ORDER


def reachable(host: str) -> str:
    """The address by which this host reaches what listens on `host`, in the form that a URL needs."""
    if host in {"0.0.0.0", "localhost"}:  # noqa: S104  compared, not listened on
        return _LOOPBACK
    if host == "::":
        return "[::1]"
    return f"[{host}]" if ":" in host else host
