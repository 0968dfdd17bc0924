"""The five services as real processes around one store, with a model server's double behind the gateway."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.harness.llm_double import LlmDouble
from tests.harness.processes import ServiceProcess, start, wait_ready
from tests.harness.rewriting_proxy import RewritingProxy

TIMEOUT_S = 120


@dataclass
class Stack:
    """Running services. The proxy stands between gateway and retriever."""

    folder: Path
    embedding: ServiceProcess
    dataprep: ServiceProcess
    retriever: ServiceProcess
    reranker: ServiceProcess
    chatqna: ServiceProcess
    llm: LlmDouble
    retriever_proxy: RewritingProxy

    def stop(self) -> None:
        for service in (self.chatqna, self.reranker, self.retriever, self.dataprep, self.embedding):
            service.stop()
        self.retriever_proxy.stop()
        self.llm.stop()

    def ingest(self, *files: tuple[str, bytes]) -> requests.Response:
        return ingest(self.dataprep, *files)

    def embed(self, text: str) -> str:
        """The vector of a text as base64."""
        reply = post(self.embedding, "/v1/embeddings", {"input": text, "encoding_format": "base64"})
        return str(reply.json()["data"][0]["embedding"])

    def retrieve(self, text: str, **fields: Any) -> requests.Response:
        return post(self.retriever, "/v1/retrieval", {"text": text, "embedding": self.embed(text), **fields})


def post(service: ServiceProcess, path: str, body: Any) -> requests.Response:
    """POST JSON to a service."""
    return requests.post(service.url + path, json=body, timeout=TIMEOUT_S)


def ingest(dataprep: ServiceProcess, *files: tuple[str, bytes]) -> requests.Response:
    """Upload files and wait until they are published."""
    return requests.post(
        f"{dataprep.url}/v1/dataprep/ingest", files=[("files", one) for one in files], timeout=TIMEOUT_S
    )


def start_stack(folder: Path, **settings: str) -> Stack:
    """Start everything on free ports; `settings` are environment variables for all services."""
    common = {
        "STORE_PATH": str(folder / "store.db"),
        "LEDGER_PATH": str(folder / "ledgers.db"),
        "AUTH": "off",
        **settings,
    }
    llm = LlmDouble().start()
    embedding = start("embedding", common)
    common["EMBEDDING_URL"] = embedding.url
    reranker = start("reranker", common)
    common["RERANKER_URL"] = reranker.url
    dataprep = start("dataprep", common)
    retriever = start("retriever", common)
    proxy = RewritingProxy(retriever.url).start()
    chatqna = start("chatqna", {**common, "RETRIEVER_URL": proxy.url, "LLM_URL": llm.url, "DATAPREP_URL": dataprep.url})
    stack = Stack(folder, embedding, dataprep, retriever, reranker, chatqna, llm, proxy)
    for service in (embedding, dataprep, retriever, reranker, chatqna):
        wait_ready(service)
    return stack
