"""The two forms of `POST /v1/embeddings` over the app, with a fake model."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from steelyard_contracts.enums import Stage
from steelyard_contracts.vectors import Vector
from steelyard_embedding.embedder import open_embedder
from steelyard_embedding.routes import router
from steelyard_runtime.app import Running, Service, create_app
from steelyard_runtime.metrics import Metrics
from steelyard_runtime.settings.groups import ProcessSettings
from tests.harness.local_client import local_client

from .fake_model import DIMENSION, FakeModel, vector_of

GOLDEN = Path(__file__).parents[2] / "golden" / "opea"


@pytest.fixture
def client() -> Iterator[TestClient]:
    @asynccontextmanager
    async def lifespan(_metrics: Metrics) -> AsyncIterator[Running]:
        async with open_embedder(FakeModel(), 4) as embedder:
            yield Running(embedder, {"model": embedder.probe})

    service = Service(Stage.EMBEDDING, "t", "d", policy={})
    with local_client(create_app(service, ProcessSettings(), lifespan, [router])) as made:
        yield made


def post(client: TestClient, body: Any) -> Any:
    return client.post("/v1/embeddings", json=body)


def test_openais_two_encodings_are_the_same_numbers(client: TestClient) -> None:
    floats = post(client, {"input": ["one", "two words"]}).json()
    packed = post(client, {"input": ["one", "two words"], "encoding_format": "base64"}).json()
    assert [entry["index"] for entry in floats["data"]] == [0, 1]
    for number, text in enumerate(("one", "two words")):
        assert floats["data"][number]["embedding"] == vector_of(text).tolist()
        assert Vector.from_base64(packed["data"][number]["embedding"]).to_floats() == vector_of(text).tolist()
    assert floats["usage"] == {"prompt_tokens": 7, "total_tokens": 7}
    assert (floats["model"], floats["model_revision"]) == ("fake", "r1")


def test_one_text_and_a_list_of_one_are_the_same(client: TestClient) -> None:
    assert post(client, {"input": "one"}).json() == post(client, {"input": ["one"]}).json()


def test_opeas_form_answers_with_an_embed_doc(client: TestClient) -> None:
    one = post(client, {"id": "x", "text": "one"}).json()
    assert (one["id"], one["text"], one["embedding"]) == ("x", "one", vector_of("one").tolist())
    fields = json.loads((GOLDEN / "reply-EmbedDoc.json").read_text(encoding="utf-8"))["schema"]["properties"]
    assert one.keys() == fields.keys()
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    assert {name: one[name] for name in defaults} == defaults
    two = post(client, {"text": ["one", "two"]}).json()
    assert two["embedding"] == [vector_of("one").tolist(), vector_of("two").tolist()]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"input": "one", "model": "another"}, 404, "model_not_found"),
        ({"input": "one", "dimensions": DIMENSION - 1}, 422, "invalid_request"),
        ({"input": []}, 422, "invalid_request"),
        ({"input": ["one", " "]}, 422, "invalid_request"),
        ({"input": ["a b c d e"]}, 422, "text_too_long"),
        ({"text": "a b c d e"}, 422, "text_too_long"),
        ({"input": "one", "colour": "red"}, 422, "invalid_request"),
    ],
)
def test_what_can_not_be_embedded_is_refused(client: TestClient, body: Any, status: int, code: str) -> None:
    reply = post(client, body)
    assert (reply.status_code, reply.json()["code"]) == (status, code)


def test_the_models_own_name_and_dimension_may_be_named(client: TestClient) -> None:
    assert post(client, {"input": "one", "model": "fake", "dimensions": DIMENSION}).status_code == 200


def test_readiness_follows_the_probe(client: TestClient) -> None:
    assert client.get("/ready").json()["dependencies"] == [
        {"name": "model", "ready": True, "required": True, "cause": None}
    ]
