"""The services on the ArangoDB store: the demo corpus goes in, and the right documents come out first.

The server is the local protocol server, not ArangoDB; `pytest -m real_arango` runs the store itself against a live one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from tests.e2e.conftest import COMMAND, CORPUS, ROOT
from tests.harness.processes import ServiceProcess, start, wait_ready

pytestmark = pytest.mark.timeout(900)  # loading the model and embedding the corpus twice are in here

PASSWORD = "correct-horse-battery"
QUESTIONS = json.loads((ROOT / "examples" / "questions.json").read_text(encoding="utf-8"))["questions"]
ANSWERABLE = [one for one in QUESTIONS if one["answerable"]]
DEPTH = 5
TIMEOUT_S = 300


@dataclass(frozen=True)
class Services:
    """Running services around one store, and their environment."""

    embedding: ServiceProcess
    dataprep: ServiceProcess
    retriever: ServiceProcess
    environment: dict[str, str]

    def retrieve(self, question: str, search_type: str) -> Any:
        vector = requests.post(
            f"{self.embedding.url}/v1/embeddings",
            json={"input": question, "encoding_format": "base64"},
            timeout=TIMEOUT_S,
        ).json()["data"][0]["embedding"]
        body = {"text": question, "embedding": vector, "k": DEPTH, "search_type": search_type}
        reply = requests.post(f"{self.retriever.url}/v1/retrieval", json=body, timeout=TIMEOUT_S)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def ranks(self, search_type: str) -> list[int | None]:
        """For each answerable question the rank of the first chunk of a document that has the answer."""
        ranks: list[int | None] = []
        for question in ANSWERABLE:
            right = {evidence["document"] for evidence in question["evidence"]}
            found = self.retrieve(question["question"], search_type)["metadata"]
            ranks.append(next((rank for rank, entry in enumerate(found, 1) if entry["source"] in right), None))
        return ranks

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *arguments], env=self.environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a protocol server in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.arangosim", "--port", "0", "--password", PASSWORD],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(scope="module")
def embedding() -> Iterator[ServiceProcess]:
    service = start("embedding", {})
    yield service
    service.stop()


@pytest.fixture(scope="module")
def on_arangodb(server: str, embedding: ServiceProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    folder = tmp_path_factory.mktemp("arangodb")
    (folder / "password").write_text(PASSWORD)
    settings = {"STORE": "arangodb", "ARANGO_URL": server, "ARANGO_PASSWORD_FILE": str(folder / "password")}
    with services(embedding, settings) as running:
        yield running


@pytest.fixture(scope="module")
def on_embedded(embedding: ServiceProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with services(embedding, {"STORE_PATH": str(tmp_path_factory.mktemp("embedded") / "store.db")}) as running:
        yield running


@contextmanager
def services(embedding: ServiceProcess, settings: dict[str, str]) -> Iterator[Services]:
    """Start dataprep and retriever, and ingest the corpus."""
    common = {**settings, "EMBEDDING_URL": embedding.url}
    with ExitStack() as stack:
        dataprep = start("dataprep", common)
        stack.callback(dataprep.stop)
        retriever = start("retriever", common)
        stack.callback(retriever.stop)
        for service in (embedding, dataprep, retriever):
            wait_ready(service)
        files = [("files", (path.name, path.read_bytes())) for path in sorted(CORPUS.iterdir())]
        reply = requests.post(f"{dataprep.url}/v1/dataprep/ingest", files=files, timeout=TIMEOUT_S)
        assert reply.status_code == 200, reply.text
        yield Services(embedding, dataprep, retriever, {"PATH": os.environ["PATH"], **common})


@pytest.mark.parametrize("search_type", ["similarity", "hybrid"])
def test_both_stores_give_the_same_documents_and_the_right_ones(
    on_arangodb: Services, on_embedded: Services, search_type: str
) -> None:
    ours, theirs = on_arangodb.ranks(search_type), on_embedded.ranks(search_type)
    for name, ranks in (("arangodb", ours), ("embedded", theirs)):
        first, within = sum(rank == 1 for rank in ranks), sum(rank is not None for rank in ranks)
        print(f"{search_type} on {name}: right document first {first}, within {DEPTH} {within} of {len(ranks)}")
    if search_type == "similarity":  # exact in both; BM25 weighs title words a little differently
        assert ours == theirs
    assert sum(rank == 1 for rank in ours) >= 0.7 * len(ours)


def test_the_command_describes_checks_and_migrates_the_store(on_arangodb: Services) -> None:
    described = json.loads(on_arangodb.command("store", "check", "--json").stdout)
    assert (described["store"], described["documents"], described["findings"]) == ("arangodb", 17, [])
    assert on_arangodb.command("store", "init").returncode == 0
    assert json.loads(on_arangodb.command("store", "migrate", "--json").stdout) == {"done": []}


def test_the_password_is_in_no_log_and_no_output(on_arangodb: Services) -> None:
    said = "".join(on_arangodb.command("store", name).stderr for name in ("init", "check", "migrate"))
    said += on_arangodb.command("config", "explain").stdout
    logs = "\n".join(line for one in (on_arangodb.dataprep, on_arangodb.retriever) for line in one.stderr)
    assert PASSWORD not in said + logs
