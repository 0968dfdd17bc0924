"""An embedding service that breaks off, hangs or talks nonsense: nothing of it is stored, and the next file goes on."""

from collections.abc import Iterator

import pytest

from tests.faults.fault_proxy import HARMLESS, TRANSPORT, Fault, FaultProxy, reply_again_later
from tests.faults.ingestion_embedder import EmbedderDouble
from tests.faults.ingestion_lab import Lab, text_of
from tests.faults.semantic import ANYWHERE

_REQUEST_S = "5"
"""What a request may take, and so what a batch of texts may; hanging replies take all of it."""


class Broken:
    """The embedding service behind a proxy that breaks the replies with vectors while there is a `fault`."""

    def __init__(self, embedder: EmbedderDouble) -> None:
        self.embedder = embedder
        self.fault: Fault | None = None
        self.proxy = FaultProxy(embedder.url, self._chosen).start()

    def _chosen(self, head: str) -> Fault | None:
        return self.fault if "/v1/embeddings" in head else None


@pytest.fixture(scope="module")
def broken() -> Iterator[Broken]:
    embedder = EmbedderDouble().start()
    made = Broken(embedder)
    yield made
    made.proxy.stop()
    embedder.stop()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, broken: Broken) -> Iterator[Lab]:
    settings = {"EMBEDDING_URL": broken.proxy.url, "STEELYARD_REQUEST_TIMEOUT_S": _REQUEST_S}
    made = Lab(tmp_path_factory.mktemp("embedder"), broken.embedder, settings)
    made.start()
    yield made
    made.kill()


FAULTS = {**TRANSPORT, **ANYWHERE, **HARMLESS}
del FAULTS[reply_again_later.__name__]  # its second reply meets the next call, which then fails honestly


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_rejects_its_file_and_the_next_is_taken_in(lab: Lab, broken: Broken, name: str) -> None:
    broken.fault = FAULTS[name]
    reply = lab.send("broken.txt", text_of(1, list(FAULTS).index(name)))
    broken.fault = None
    assert reply is not None
    assert reply.status_code in ((200,) if name in HARMLESS else (502, 503, 504)), reply.text
    after = lab.send("next.txt", text_of(2, list(FAULTS).index(name)))
    assert after is not None
    assert after.status_code == 200, "a reply that never comes holds up the line"
    assert lab.violations() == []
