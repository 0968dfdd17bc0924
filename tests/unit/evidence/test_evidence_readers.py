"""Readers: the service's own backends in this process, and a running reranker service asked over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from aiohttp import web

from steelyard_contracts.enums import PairPolicy
from steelyard_evidence.errors import PolicyError, RunError, UnsupportedLengthError
from steelyard_evidence.policy import names_reranker, reranker_settings
from steelyard_evidence.readers import BackendReader, open_embedded, open_service, open_settings
from steelyard_evidence.run.reading import Readings
from steelyard_evidence.survival import PairEncoder, TruncationStrategy
from steelyard_models.cross_encoder import OnnxCrossEncoder
from steelyard_reranker.app import build
from steelyard_reranker.pairs import PairSettings
from steelyard_reranker.settings import RerankerSettings
from tests.harness.asgi_server import serving
from tests.harness.in_thread import InThread, served
from tests.unit.evidence.samples import candidate
from tests.unit.models.tiny_cross_encoder import onnx_pair_sum, weights, write_cross_encoder

QUERY = "a cat likes fish"
TEXTS = ["the dog likes the sea .", "fish", " ".join(["the cat likes fish ."] * 30), "a sea"]
CANDIDATES = [candidate(f"c{number}", text) for number, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cross_encoder(tmp_path_factory.mktemp("models") / "tiny")


def settings_of(folder: Path, **more: str) -> RerankerSettings:
    return reranker_settings({"RERANK_BACKEND": "onnx", "RERANK_MODEL_DIR": str(folder), **more})


@pytest.fixture(scope="module")
def onnx(folder: Path) -> Iterator[BackendReader]:
    with open_settings(settings_of(folder)) as reader:
        yield reader


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    running = InThread(serving(build(settings_of(folder, RERANK_PAIR_BUDGET_TOKENS="200"))))
    yield running.url
    running.stop()


def read(reader: BackendReader, **bounds: object) -> Readings:
    return reader.read(QUERY, CANDIDATES, PairSettings(min_doc_tokens=16, **bounds))  # type: ignore[arg-type]


def test_a_cross_encoder_of_a_folder_scores_as_it_is(folder: Path, onnx: BackendReader) -> None:
    found = read(onnx)
    logits = OnnxCrossEncoder(folder).logits(QUERY, TEXTS)
    np.testing.assert_allclose([one.score for one in found.readings], 1 / (1 + np.exp(-logits)), rtol=1e-6)
    assert [one.kept_spans for one in found.readings] == [((0, len(text)),) for text in TEXTS]
    assert (onnx.longest_pair, onnx.identity.name) == (512, "onnx:tiny")
    assert found.positions is not None
    pairs = [len(PairEncoder(onnx.tokenizer).encode(QUERY, text)) for text in TEXTS]
    assert found.positions.real == sum(pairs)
    assert found.positions.padded >= sum(pairs)


def test_what_it_reads_under_a_limit_is_what_the_diagnostic_says(folder: Path, onnx: BackendReader) -> None:
    (span,) = read(onnx, budget=40).readings[2].kept_spans
    encoder = PairEncoder(folder / "tokenizer.json")
    limited = encoder.encode_within(QUERY, TEXTS[2], 40, TruncationStrategy.ONLY_SECOND)
    assert span == (0, max(end for _, end in limited.document))
    windowed = read(onnx, budget=40, long_document=PairPolicy.WINDOWS, window_overlap=4).readings[2]
    assert windowed.windows > 1
    assert windowed.kept_spans == ((0, len(TEXTS[2])),)


def test_a_text_that_is_refused_has_no_score_and_the_others_keep_theirs(onnx: BackendReader) -> None:
    found = read(onnx, budget=40, long_document=PairPolicy.ERROR)
    assert [one.score is None for one in found.readings] == [False, False, True, False]
    alone = onnx.read(
        QUERY, CANDIDATES[2:3], PairSettings(min_doc_tokens=16, budget=40, long_document=PairPolicy.ERROR)
    )
    assert [one.score for one in alone.readings] == [None]


def test_a_length_that_the_model_does_not_have_is_refused(onnx: BackendReader) -> None:
    with pytest.raises(UnsupportedLengthError, match="513 is more than the 512"):
        read(onnx, budget=513)


def test_other_weights_are_another_reranker(tmp_path: Path, onnx: BackendReader) -> None:
    other = write_cross_encoder(tmp_path / "tiny")
    (other / "model.onnx").write_bytes(onnx_pair_sum(weights(seed=12)))
    with open_settings(settings_of(other)) as reader:
        assert reader.identity.name == onnx.identity.name
        assert reader.identity.sha256 != onnx.identity.sha256


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=str(tmp_path)), open_settings(settings_of(tmp_path)):
        pass


def test_a_server_without_a_tokenizer_can_not_be_measured() -> None:
    settings = reranker_settings({"RERANK_BACKEND": "tei", "RERANK_URL": "http://127.0.0.1:1"})
    with pytest.raises(RunError, match="without RERANK_MODEL_DIR"), open_settings(settings):
        pass


def test_a_policy_says_which_reranker_it_is_for() -> None:
    file = {"RERANK_BACKEND": "onnx", "RERANKER_TOP_N": "2", "RERANK_MODEL_DIR": "/models/m"}
    assert names_reranker(file) == {"RERANK_BACKEND": "onnx", "RERANK_MODEL_DIR": "/models/m"}
    with pytest.raises(PolicyError, match=r"^RERANK_BACKEND=onnx needs RERANK_MODEL_DIR"):
        reranker_settings({"RERANK_BACKEND": "onnx"})


def test_a_running_service_reads_as_its_model_does_here(url: str, folder: Path, onnx: BackendReader) -> None:
    with open_service(url, None, folder) as reader:
        assert reader.identity == onnx.identity
        assert reader.longest_pair == 200
        for bounds in ({"budget": 200}, {"budget": 40}, {"budget": 40, "long_document": PairPolicy.WINDOWS}):
            remote, here = read(reader, **bounds), read(onnx, **bounds)
            assert [one.kept_spans for one in remote.readings] == [one.kept_spans for one in here.readings]
            np.testing.assert_allclose(
                [one.score for one in remote.readings], [one.score for one in here.readings], rtol=1e-6
            )
            assert remote.positions is None
        with pytest.raises(UnsupportedLengthError, match="more than the 200"):
            read(reader, budget=300)


def test_more_candidates_than_one_request_holds_keep_their_scores(url: str, folder: Path, onnx: BackendReader) -> None:
    many = [candidate(f"c{number}", f"{'fish ' * (number % 7)}the sea") for number in range(150)]
    with open_service(url, None, folder) as reader:
        remote = reader.read(QUERY, many, PairSettings())
    here = onnx.read(QUERY, many, PairSettings())
    np.testing.assert_allclose([one.score for one in remote.readings], [one.score for one in here.readings], rtol=1e-6)


def test_a_service_needs_its_models_tokenizer(url: str, folder: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(RunError, match="'onnx:tiny'; --tokenizer should name the folder"),
        open_service(url, None, None),
    ):
        pass
    other = tmp_path / "tokenizer.json"
    other.write_bytes((folder / "tokenizer.json").read_bytes() + b"\n")
    with pytest.raises(RunError, match="the service's tokenizer"), open_service(url, None, tmp_path):
        pass


def test_a_service_that_cuts_what_it_is_sent_scores_nothing(folder: Path) -> None:
    running = InThread(serving(build(settings_of(folder, RERANK_MAX_CHARS_PER_DOC="20"))))
    try:
        with open_service(running.url, None, folder) as reader, pytest.raises(RunError, match="did not read a text of"):
            read(reader)
    finally:
        running.stop()


@pytest.mark.parametrize("answer", [{}, {"service": "embedding", "version": "1", "policy_hash": ""}])
def test_what_is_no_reranker_service_is_said(answer: dict[str, object]) -> None:
    async def info(_request: web.Request) -> web.Response:
        return web.json_response(answer)

    app = web.Application()
    app.router.add_get("/info", info)
    running = InThread(served(app))
    try:
        with (
            pytest.raises(RunError, match=r"no reranker service of ours|reranks with no model"),
            open_service(running.url, None, None),
        ):
            pass
    finally:
        running.stop()


def test_a_service_that_is_not_there_is_said() -> None:
    with pytest.raises(RunError, match=r"127\.0\.0\.1:9"), open_service("http://127.0.0.1:9", None, None):
        pass


@pytest.mark.models
def test_the_embedded_default_is_the_same_in_its_service() -> None:
    running = InThread(serving(build(reranker_settings({}))))
    try:
        with open_service(running.url, None, None) as remote, open_embedded() as here:
            assert remote.identity == here.identity
            assert remote.longest_pair == here.longest_pair == 1024
            bounds = PairSettings(budget=64)
            theirs, ours = (one.read(QUERY, CANDIDATES, bounds).readings for one in (remote, here))
            assert [one.kept_spans for one in theirs] == [one.kept_spans for one in ours]
            np.testing.assert_allclose([one.score for one in theirs], [one.score for one in ours], atol=1e-5)
    finally:
        running.stop()
