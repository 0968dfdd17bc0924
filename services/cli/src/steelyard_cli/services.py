"""The services that `steelyard up` runs and the other commands talk to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import ConfigurationError


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
        return f"http://{loopback(environ)}:{self.port(environ)}"


LLM = ServiceSpec("llm", "steelyard_models.llm_server", "LLM_PORT", 9009, "/health", "LLM_URL")
EMBEDDING = ServiceSpec("embedding", "steelyard_embedding", "EMBEDDING_PORT", 6000, peer_variable="EMBEDDING_URL")
RETRIEVER = ServiceSpec("retriever", "steelyard_retriever", "RETRIEVER_PORT", 7000, peer_variable="RETRIEVER_URL")
RERANKER = ServiceSpec("reranker", "steelyard_reranker", "RERANKER_PORT", 8000, peer_variable="RERANKER_URL")
DATAPREP = ServiceSpec("dataprep", "steelyard_dataprep", "DATAPREP_PORT", 5000)
CHATQNA = ServiceSpec("chatqna", "steelyard_chatqna", "CHATQNA_PORT", 8888)

START_ORDER = (LLM, EMBEDDING, RETRIEVER, RERANKER, DATAPREP, CHATQNA)
"""Callees before callers; they are stopped in the reverse order, so that nothing loses what it is calling."""


def bind_host(environ: Mapping[str, str]) -> str:
    """The address that the services listen on."""
    return environ.get("STEELYARD_BIND_HOST", "127.0.0.1")


def loopback(environ: Mapping[str, str]) -> str:
    """The address by which this host reaches its own services, in the form that a URL needs."""
    host = bind_host(environ)
    if host in {"0.0.0.0", "localhost"}:  # noqa: S104  compared, not listened on
        return "127.0.0.1"
    if host == "::":
        return "[::1]"
    return f"[{host}]" if ":" in host else host
