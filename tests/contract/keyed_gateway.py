"""A gateway with API keys over the real services."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import requests

from steelyard_contracts.answers import Ledger
from tests.harness.processes import ServiceProcess, start, wait_ready
from tests.harness.stack import TIMEOUT_S, Stack

QUESTION = "Which seal is approved for AX-104-B?"
SECRET = "# Board minutes\n\nThe approved seal for AX-104-B will be ZQ-99, which only the board knows.\n"


def keys(path: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "steelyard_cli", "keys", *arguments, "--file", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S).stdout.strip()


class Door:
    """The gateway with keys, and who may ask it."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self.path = folder / "keys.json"
        self.public = keys(self.path, "add", "public", "--scope", "public", "--requests-per-minute", "1000")
        self.board = keys(self.path, "add", "board", "--scope", "public", "--scope", "internal",
                          "--requests-per-minute", "1000")  # fmt: skip
        self.writer = keys(self.path, "add", "writer", "--scope", "public", "--write",
                           "--requests-per-minute", "1000")  # fmt: skip
        self.secretary = keys(self.path, "add", "secretary", "--scope", "internal", "--write",
                              "--requests-per-minute", "1000")  # fmt: skip
        stored = requests.post(
            f"{stack.dataprep.url}/v1/dataprep/ingest",
            files=[("files", ("minutes.md", SECRET.encode()))],
            data={"scope": "internal"},
            timeout=TIMEOUT_S,
        )
        assert stored.status_code == 200, stored.text
        self.gateway: ServiceProcess = start(
            "chatqna",
            {
                "API_KEYS_FILE": str(self.path),
                "STEELYARD_SCOPES": "public,internal",
                "LEDGER_PATH": str(folder / "ledgers.db"),
                "EMBEDDING_URL": stack.embedding.url,
                "RETRIEVER_URL": stack.retriever.url,
                "RERANKER_URL": stack.reranker.url,
                "LLM_URL": stack.llm.url,
                "DATAPREP_URL": stack.dataprep.url,
            },
        )
        wait_ready(self.gateway)

    def call(self, method: str, path: str, key: str, body: Any = None) -> requests.Response:
        sent = {"Authorization": f"Bearer {key}"}
        return requests.request(method, self.gateway.url + path, json=body, headers=sent, timeout=TIMEOUT_S)

    def inspect(self, key: str, **fields: Any) -> Ledger:
        reply = self.call("POST", "/v1/inspect", key, {"messages": QUESTION, **fields})
        assert reply.status_code == 200, reply.text
        return Ledger.model_validate(reply.json())
